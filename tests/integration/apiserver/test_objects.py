"""Create, read, change and delete, as a client that looks closely sees them."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from winkube.apiserver import verbs
from winkube.apiserver.room import LARGE, SHARE


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": containers, **spec},
    }


def config(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


@pytest.fixture
def pods(space: str) -> str:
    return f"/api/v1/namespaces/{space}/pods"


@pytest.fixture
def maps(space: str) -> str:
    return f"/api/v1/namespaces/{space}/configmaps"


def test_create_completes_metadata_and_defaults(api: Any, pods: str) -> None:
    made = api("POST", pods, pod())
    assert made.status == 201
    metadata = made.body["metadata"]
    assert metadata["uid"]
    assert metadata["creationTimestamp"]
    assert int(metadata["resourceVersion"]) > 0
    assert metadata["generation"] == 1
    assert made.body["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert made.body["spec"]["restartPolicy"] == "Always"
    assert api("GET", f"{pods}/p").body == made.body


def test_second_create_of_a_name_conflicts(api: Any, maps: str) -> None:
    assert api("POST", maps, config("a")).status == 201
    again = api("POST", maps, config("a"))
    assert again.status == 409
    assert again.body["reason"] == "AlreadyExists"
    assert again.message == 'configmaps "a" already exists'


def test_generate_name_makes_distinct_names(api: Any, maps: str) -> None:
    names = {
        api("POST", maps, {"metadata": {"generateName": "x-"}}).body["metadata"]["name"]
        for _ in range(5)
    }
    assert len(names) == 5
    assert all(name.startswith("x-") and len(name) == 7 for name in names)


def test_create_without_any_name_is_invalid(api: Any, maps: str) -> None:
    answer = api("POST", maps, {"metadata": {}})
    assert answer.status == 422
    assert "name or generateName is required" in answer.message


def test_absent_object_is_not_found(api: Any, pods: str) -> None:
    answer = api("GET", f"{pods}/none")
    assert (answer.status, answer.message) == (404, 'pods "none" not found')
    assert answer.body["details"] == {"name": "none", "kind": "pods"}


def test_create_in_absent_namespace_is_not_found(api: Any) -> None:
    answer = api("POST", "/api/v1/namespaces/absent/configmaps", config("a"))
    assert (answer.status, answer.message) == (404, 'namespaces "absent" not found')


def test_stale_update_conflicts(api: Any, maps: str) -> None:
    first = api("POST", maps, config("a", k="1")).body
    fresh = {**first, "data": {"k": "2"}}
    assert api("PUT", f"{maps}/a", fresh).status == 200
    stale = api("PUT", f"{maps}/a", {**first, "data": {"k": "3"}})
    assert (stale.status, stale.body["reason"]) == (409, "Conflict")
    assert stale.message == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


def test_update_without_version_overwrites(api: Any, maps: str) -> None:
    api("POST", maps, config("a", k="1"))
    assert api("PUT", f"{maps}/a", config("a", k="2")).body["data"] == {"k": "2"}


def test_update_that_changes_nothing_keeps_the_version(api: Any, maps: str) -> None:
    first = api("POST", maps, config("a", k="1")).body
    again = api("PUT", f"{maps}/a", first).body
    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_update_under_another_name_is_refused(api: Any, maps: str) -> None:
    api("POST", maps, config("a"))
    answer = api("PUT", f"{maps}/a", config("b"))
    assert answer.status == 400
    assert answer.message == ("the name of the object (b) does not match the name on the URL (a)")


@pytest.mark.parametrize(
    ("media", "patch"),
    [
        ("application/merge-patch+json", {"data": {"k": None, "n": "1"}}),
        ("application/strategic-merge-patch+json", {"data": {"k": None, "n": "1"}}),
        (
            "application/json-patch+json",
            [{"op": "remove", "path": "/data/k"}, {"op": "add", "path": "/data/n", "value": "1"}],
        ),
    ],
)
def test_patch_changes_what_it_names(api: Any, maps: str, media: str, patch: Any) -> None:
    api("POST", maps, config("a", k="1", l="2"))
    done = api("PATCH", f"{maps}/a", patch, Content_Type=media)
    assert done.status == 200, done.body
    assert done.body["data"] == {"l": "2", "n": "1"}


@pytest.mark.parametrize("applies", [False, True], ids=["merge", "apply"])
def test_patches_at_the_same_time_all_happen(api: Any, maps: str, applies: bool) -> None:
    head = {"apiVersion": "v1", "kind": "ConfigMap"}
    assert api("POST", maps, {"metadata": {"name": "busy"}}).status == 201
    kind = "apply-patch+yaml" if applies else "merge-patch+json"

    def change(number: int) -> int:
        query = f"?fieldManager=m{number}" if applies else ""
        change = {**(head if applies else {}), "data": {f"k{number}": "v"}}
        answer = api("PATCH", f"{maps}/busy{query}", change, Content_Type=f"application/{kind}")
        return int(answer.status)

    with ThreadPoolExecutor(24) as pool:
        assert set(pool.map(change, range(48))) == {200}
    assert len(api("GET", f"{maps}/busy").body["data"]) == 48


def test_unknown_patch_type_is_unsupported(api: Any, maps: str) -> None:
    api("POST", maps, config("a"))
    answer = api("PATCH", f"{maps}/a", {}, Content_Type="application/x-patch")
    assert (answer.status, answer.body["reason"]) == (415, "UnsupportedMediaType")


def test_status_and_spec_are_isolated(api: Any, space: str) -> None:
    path = f"/apis/apps/v1/namespaces/{space}/deployments"
    labels = {"app": "x"}
    body = {
        "metadata": {"name": "d"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
        "status": {"replicas": 7},
    }
    made = api("POST", path, body).body
    assert made["status"] == {}
    made["status"] = {"replicas": 3, "observedGeneration": 1}
    made["spec"]["replicas"] = 9
    after = api("PUT", f"{path}/d/status", made).body
    assert after["status"]["replicas"] == 3
    assert after["spec"]["replicas"] == 1
    assert after["metadata"]["generation"] == 1
    after["spec"]["replicas"] = 2
    after["status"] = {}
    final = api("PUT", f"{path}/d", after).body
    assert (final["spec"]["replicas"], final["status"]["replicas"]) == (2, 3)
    assert final["metadata"]["generation"] == 2


def test_scale_reads_and_writes_replicas(api: Any, space: str) -> None:
    path = f"/apis/apps/v1/namespaces/{space}/replicasets"
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    api("POST", path, {"metadata": {"name": "r"}, "spec": spec})
    scale = api("GET", f"{path}/r/scale").body
    assert scale["kind"] == "Scale"
    assert (scale["spec"]["replicas"], scale["status"]["selector"]) == (1, "a=b")
    scale["spec"]["replicas"] = 4
    assert api("PUT", f"{path}/r/scale", scale).body["spec"]["replicas"] == 4
    merge = "application/merge-patch+json"
    answer = api("PATCH", f"{path}/r/scale", {"spec": {"replicas": -1}}, Content_Type=merge)
    assert answer.status == 422
    assert api("GET", f"{path}/r").body["spec"]["replicas"] == 4


def test_delete_answers_status_and_then_it_is_gone(api: Any, maps: str) -> None:
    uid = api("POST", maps, config("a")).body["metadata"]["uid"]
    gone = api("DELETE", f"{maps}/a")
    assert gone.body["status"] == "Success"
    assert gone.body["details"] == {"name": "a", "kind": "configmaps", "uid": uid}
    assert api("DELETE", f"{maps}/a").status == 404


def test_delete_respects_preconditions(api: Any, maps: str) -> None:
    api("POST", maps, config("a"))
    refused = api("DELETE", f"{maps}/a", {"preconditions": {"uid": "other"}})
    assert (refused.status, refused.body["reason"]) == (409, "Conflict")
    assert "the UID in the precondition (other) does not match" in refused.message


def test_finalizer_holds_the_object_until_it_is_removed(api: Any, maps: str) -> None:
    held = {"metadata": {"name": "a", "finalizers": ["x.io/hold"]}}
    api("POST", maps, held)
    marked = api("DELETE", f"{maps}/a")
    assert marked.body["metadata"]["deletionTimestamp"]
    assert api("GET", f"{maps}/a").status == 200
    released = api(
        "PATCH",
        f"{maps}/a",
        {"metadata": {"finalizers": None}},
        Content_Type="application/merge-patch+json",
    )
    assert released.status == 200
    assert api("GET", f"{maps}/a").status == 404


def test_propagation_policy_becomes_a_finalizer(api: Any, maps: str) -> None:
    api("POST", maps, config("a"))
    marked = api("DELETE", f"{maps}/a", {"propagationPolicy": "Foreground"}).body
    assert marked["metadata"]["finalizers"] == ["foregroundDeletion"]


def test_bound_pod_dies_gracefully_and_the_kubelet_ends_it(api: Any, pods: str) -> None:
    api("POST", pods, pod())
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    assert api("POST", f"{pods}/p/binding", binding).status == 201
    again = api("POST", f"{pods}/p/binding", binding)
    assert again.status == 409
    assert 'pod p is already assigned to node "n"' in again.message
    marked = api("DELETE", f"{pods}/p").body
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 30
    assert api("GET", f"{pods}/p").status == 200
    api("DELETE", f"{pods}/p", {"gracePeriodSeconds": 0})
    assert api("GET", f"{pods}/p").status == 404


def test_unscheduled_pod_goes_at_once(api: Any, pods: str) -> None:
    api("POST", pods, pod())
    assert api("DELETE", f"{pods}/p").status == 200
    assert api("GET", f"{pods}/p").status == 404


def test_deleted_collection_is_empty(api: Any, maps: str) -> None:
    for name in "abc":
        labels = {"keep": "yes"} if name == "b" else {}
        api("POST", maps, {"metadata": {"name": name, "labels": labels}})
    assert api("DELETE", f"{maps}?labelSelector=keep!=yes").status == 200
    assert [item["metadata"]["name"] for item in api("GET", maps).body["items"]] == ["b"]


def test_a_collection_deleted_by_two_at_once_refuses_neither(api: Any, maps: str) -> None:
    for number in range(50):
        api("POST", maps, config(f"a{number}"))
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: api("DELETE", maps).status, range(4)))
    assert answers == [200] * 4
    assert api("GET", maps).body["items"] == []


def test_namespace_goes_when_it_is_finalized(api: Any) -> None:
    path = "/api/v1/namespaces/short"
    api("POST", "/api/v1/namespaces", {"metadata": {"name": "short"}})
    marked = api("DELETE", path).body
    assert marked["status"]["phase"] == "Terminating"
    refused = api("POST", f"{path}/configmaps", config("a"))
    assert refused.status == 403
    assert "because it is being terminated" in refused.message
    marked["spec"]["finalizers"] = []
    assert api("PUT", f"{path}/finalize", marked).status == 200
    assert api("GET", path).status == 404


def test_dry_run_stores_nothing(api: Any, maps: str) -> None:
    made = api("POST", f"{maps}?dryRun=All", config("a"))
    assert made.status == 201
    assert made.body["metadata"]["uid"]
    assert api("GET", f"{maps}/a").status == 404


def test_services_never_share_addresses_or_ports(api: Any, space: str) -> None:
    path = f"/api/v1/namespaces/{space}/services"
    spec = {"type": "NodePort", "ports": [{"port": 80}], "selector": {"a": "b"}}
    made = [
        api("POST", path, {"metadata": {"name": f"s{n}"}, "spec": spec}).body["spec"]
        for n in range(8)
    ]
    assert len({entry["clusterIP"] for entry in made}) == 8
    ports = {entry["ports"][0]["nodePort"] for entry in made}
    assert len(ports) == 8
    assert all(30000 <= port <= 32767 for port in ports)
    taken = {**spec, "clusterIP": made[0]["clusterIP"]}
    refused = api("POST", path, {"metadata": {"name": "x"}, "spec": taken})
    assert refused.status == 422
    assert "provided IP is already allocated" in refused.message
    api("DELETE", f"{path}/s0")
    assert api("POST", path, {"metadata": {"name": "x"}, "spec": taken}).status == 201


def test_service_keeps_its_address_when_an_update_leaves_it_out(api: Any, space: str) -> None:
    path = f"/api/v1/namespaces/{space}/services"
    body = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], "selector": {"a": "b"}}}
    address = api("POST", path, body).body["spec"]["clusterIP"]
    body["spec"]["ports"] = [{"port": 81}]  # type: ignore[index]
    assert api("PUT", f"{path}/s", body).body["spec"]["clusterIP"] == address


def test_token_of_an_account_authenticates(api: Any, server: Any, space: str) -> None:
    path = f"/api/v1/namespaces/{space}/serviceaccounts/default/token"
    answer = api("POST", path, {"spec": {"expirationSeconds": 600}})
    assert answer.status == 201, answer.body
    token = answer.body["status"]["token"]
    review = api(
        "POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": token}}
    ).body
    assert review["status"]["authenticated"] is True
    assert review["status"]["user"]["username"] == f"system:serviceaccount:{space}:default"
    short = api("POST", path, {"spec": {"expirationSeconds": 5}})
    assert short.status == 422
    assert "less than 10 minutes" in short.message


@pytest.mark.parametrize("media", ["merge-patch", "strategic-merge-patch"])
def test_a_patch_that_says_one_for_true_is_no_patch_of_nothing(
    api: Any, pods: str, media: str
) -> None:
    assert api("POST", pods, pod(enableServiceLinks=True)).status == 201
    for said, status in ((1, 422), (True, 200)):
        body = {"spec": {"enableServiceLinks": said}}
        answer = api("PATCH", f"{pods}/p", body, Content_Type=f"application/{media}+json")
        assert answer.status == status


@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH", "DELETE"])
def test_large_writes_are_done_few_at_a_time(
    api: Any, space: str, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever sends many would else have them all parsed, and the memory filled."""
    root = f"/api/v1/namespaces/{space}/configmaps"
    weight = 6
    large = {"data": {"a": "b" * (weight * LARGE)}}
    # What is there counts beside what is sent.
    together = SHARE // (2 * weight if verb in ("PUT", "PATCH") else weight)
    under_way, most, full = 0, 0, asyncio.Event()
    name = "create" if verb == "POST" else verb.lower().replace("put", "update")
    write = getattr(verbs, name)

    async def counted(*args: Any) -> Any:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if under_way == together:
            full.set()
        await full.wait()
        await asyncio.sleep(0.05)  # more may come
        try:
            return await write(*args)
        finally:
            under_way -= 1

    def send(number: int) -> int:
        named = {"metadata": {"name": f"m-{number}"}, **large}
        if verb == "POST":
            return int(api("POST", root, named).status)
        if verb == "DELETE":
            return int(api("DELETE", f"{root}/m-{number}").status)
        media = "application/merge-patch+json" if verb == "PATCH" else "application/json"
        return int(api(verb, f"{root}/m-{number}", named, Content_Type=media).status)

    if verb != "POST":
        for number in range(3 * together):
            api("POST", root, {"metadata": {"name": f"m-{number}"}, **large})
    monkeypatch.setattr(verbs, name, counted)
    with ThreadPoolExecutor(3 * together) as pool:
        codes = [*pool.map(send, range(3 * together))]
    assert set(codes) == {201 if verb == "POST" else 200}
    assert most == together
