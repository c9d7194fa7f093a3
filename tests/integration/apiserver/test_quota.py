"""Resource quotas as clients meet them: charges, refusals in upstream's words, parallel creates."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest


def container(name: str = "c", **resources: dict[str, str]) -> dict[str, Any]:
    return {"name": name, "image": "i", **({"resources": resources} if resources else {})}


def pod(name: str, *containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {"containers": list(containers) or [container()], **spec},
    }


class Space:
    """A namespace whose quotas have a status as the controller would write it."""

    def __init__(self, api: Any, name: str) -> None:
        self.api, self.name = api, name

    def path(self, plural: str, name: str = "") -> str:
        group = {"deployments": "/apis/apps/v1"}.get(plural, "/api/v1")
        return f"{group}/namespaces/{self.name}/{plural}" + (f"/{name}" if name else "")

    def create(self, plural: str, obj: dict[str, Any], query: str = "") -> Any:
        return self.api("POST", self.path(plural) + query, obj)

    def quota(self, name: str, hard: dict[str, str], **spec: Any) -> None:
        made = self.create(
            "resourcequotas", {"metadata": {"name": name}, "spec": {"hard": hard, **spec}}
        )
        assert made.status == 201, made.body
        self.count(name, hard, dict.fromkeys(hard, "0"))

    def count(self, name: str, hard: dict[str, str], used: dict[str, str]) -> None:
        obj = self.api("GET", self.path("resourcequotas", name)).body
        obj["status"] = {"hard": hard, "used": used}
        done = self.api("PUT", self.path("resourcequotas", name) + "/status", obj)
        assert done.status == 200, done.body

    def used(self, name: str) -> dict[str, str]:
        used: dict[str, str] = self.api("GET", self.path("resourcequotas", name)).body["status"][
            "used"
        ]
        return used


@pytest.fixture
def here(api: Any, space: str) -> Space:
    return Space(api, space)


def test_a_pod_is_charged_and_one_too_many_refused(here: Space) -> None:
    here.quota("q", {"pods": "2", "requests.cpu": "1", "limits.memory": "1Gi"})
    small = container(requests={"cpu": "400m"}, limits={"cpu": "1", "memory": "256Mi"})
    assert here.create("pods", pod("a", small)).status == 201
    assert here.used("q") == {"limits.memory": "256Mi", "pods": "1", "requests.cpu": "400m"}
    assert here.create("pods", pod("b", small)).status == 201
    refused = here.create("pods", pod("c", small))
    assert (refused.status, refused.body["reason"]) == (403, "Forbidden")
    assert refused.message == (
        'pods "c" is forbidden: exceeded quota: q, requested: pods=1,requests.cpu=400m, '
        "used: pods=2,requests.cpu=800m, limited: pods=2,requests.cpu=1"
    )
    assert refused.body["details"] == {"name": "c", "kind": "pods"}
    assert here.used("q") == {"limits.memory": "512Mi", "pods": "2", "requests.cpu": "800m"}


def test_a_quota_of_cpu_asks_each_container_to_name_it(here: Space) -> None:
    here.quota("q", {"cpu": "1", "limits.memory": "1Gi"})
    refused = here.create("pods", pod("a", container("x"), container("y", limits={"cpu": "1"})))
    assert refused.message == (
        'pods "a" is forbidden: failed quota: q: must specify cpu for: x; limits.memory for: x,y'
    )


def test_a_generated_name_is_shown(here: Space) -> None:
    here.quota("q", {"pods": "0"})
    refused = here.create("pods", {"metadata": {"generateName": "web-"}, "spec": pod("x")["spec"]})
    assert refused.message.startswith('pods "web-')
    assert not refused.message.startswith('pods "web-" ')


def test_nothing_is_known_yet(here: Space) -> None:
    here.quota("q", {"pods": "1"})
    here.count("q", {"pods": "1", "cpu": "1"}, {"pods": "0"})
    refused = here.create("pods", pod("a", container(requests={"cpu": "1"})))
    assert refused.message == (
        'pods "a" is forbidden: status unknown for quota: q, resources: cpu,pods'
    )


def test_parallel_creates_never_exceed(here: Space) -> None:
    here.quota("q", {"pods": "7", "configmaps": "5"})
    with ThreadPoolExecutor(16) as pool:
        pods = list(pool.map(lambda n: here.create("pods", pod(f"p{n}")).status, range(30)))
        maps = list(
            pool.map(
                lambda n: here.create("configmaps", {"metadata": {"name": f"m{n}"}}).status,
                range(20),
            )
        )
    assert (pods.count(201), pods.count(403)) == (7, 23)
    assert (maps.count(201), maps.count(403)) == (5, 15)
    assert here.used("q") == {"configmaps": "5", "pods": "7"}


def test_a_create_that_fails_gives_its_charge_back(here: Space) -> None:
    here.quota("q", {"configmaps": "3"})
    assert here.create("configmaps", {"metadata": {"name": "a"}}).status == 201
    assert here.create("configmaps", {"metadata": {"name": "a"}}).status == 409
    assert here.used("q") == {"configmaps": "1"}


def test_a_dry_run_takes_nothing(here: Space) -> None:
    here.quota("q", {"pods": "1"})
    assert here.create("pods", pod("a"), "?dryRun=All").status == 201
    assert here.used("q") == {"pods": "0"}
    assert here.create("pods", pod("a")).status == 201
    assert here.create("pods", pod("b"), "?dryRun=All").status == 403


def test_services_are_charged_by_type_and_when_it_changes(here: Space) -> None:
    names = ("services", "services.nodeports", "services.loadbalancers", "count/services")
    here.quota("q", dict.fromkeys(names, "3") | {"services.loadbalancers": "0"})
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]
    made = here.create(
        "services",
        {"metadata": {"name": "s"}, "spec": {"ports": ports, "selector": {"a": "b"}}},
    )
    assert made.status == 201
    assert here.used("q")["services.nodeports"] == "0"
    patch = {"Content_Type": "application/merge-patch+json"}
    there = here.path("services", "s")
    assert here.api("PATCH", there, {"spec": {"type": "NodePort"}}, **patch).status == 200
    assert here.used("q") == {
        "count/services": "1",
        "services": "1",
        "services.loadbalancers": "0",
        "services.nodeports": "2",
    }
    refused = here.api("PATCH", there, {"spec": {"type": "LoadBalancer"}}, **patch)
    assert refused.message == (
        'services "s" is forbidden: exceeded quota: q, requested: services.loadbalancers=1, '
        "used: services.loadbalancers=0, limited: services.loadbalancers=0"
    )


def test_object_counts_of_any_kind(here: Space) -> None:
    here.quota("q", {"count/deployments.apps": "1", "count/secrets": "1", "secrets": "5"})
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    assert here.create("deployments", {"metadata": {"name": "a"}, "spec": spec}).status == 201
    refused = here.create("deployments", {"metadata": {"name": "b"}, "spec": spec})
    assert refused.message == (
        'deployments.apps "b" is forbidden: exceeded quota: q, requested: '
        "count/deployments.apps=1, used: count/deployments.apps=1, "
        "limited: count/deployments.apps=1"
    )
    assert refused.body["details"] == {"name": "b", "group": "apps", "kind": "deployments"}
    assert here.create("secrets", {"metadata": {"name": "a"}}).status == 201
    assert here.used("q")["secrets"] == "1"


def test_claims_are_charged_in_all_and_by_class(here: Space) -> None:
    gold = "gold.storageclass.storage.k8s.io/"
    here.quota(
        "q",
        {
            "requests.storage": "10Gi",
            "persistentvolumeclaims": "5",
            f"{gold}requests.storage": "3Gi",
            f"{gold}persistentvolumeclaims": "2",
        },
    )

    def claim(name: str, size: str, cls: str) -> Any:
        resources = {"requests": {"storage": size}}
        spec = {"accessModes": ["ReadWriteOnce"], "resources": resources, "storageClassName": cls}
        return here.create("persistentvolumeclaims", {"metadata": {"name": name}, "spec": spec})

    assert claim("a", "2Gi", "gold").status == 201
    assert claim("b", "2Gi", "silver").status == 201
    refused = claim("c", "2Gi", "gold")
    assert refused.message == (
        f'persistentvolumeclaims "c" is forbidden: exceeded quota: q, requested: '
        f"{gold}requests.storage=2Gi, used: {gold}requests.storage=2Gi, "
        f"limited: {gold}requests.storage=3Gi"
    )
    assert here.used("q") == {
        f"{gold}persistentvolumeclaims": "1",
        f"{gold}requests.storage": "2Gi",
        "persistentvolumeclaims": "2",
        "requests.storage": "4Gi",
    }


@pytest.mark.parametrize(
    ("scope", "inside", "outside"),
    [
        ("BestEffort", {}, {"resources": {"requests": {"cpu": "1"}}}),
        ("NotBestEffort", {"resources": {"requests": {"cpu": "1"}}}, {}),
    ],
)
def test_scopes_of_quality(
    here: Space, scope: str, inside: dict[str, Any], outside: dict[str, Any]
) -> None:
    here.quota("q", {"pods": "0"}, scopes=[scope])
    assert here.create("pods", pod("a", {**container(), **outside})).status == 201
    assert here.create("pods", pod("b", {**container(), **inside})).status == 403


def test_scopes_of_ends_priorities_and_affinities(here: Space) -> None:
    here.quota("ends", {"pods": "0"}, scopes=["Terminating"])
    chosen = {"scopeName": "PriorityClass", "operator": "In", "values": ["system-node-critical"]}
    here.quota("high", {"pods": "0"}, scopeSelector={"matchExpressions": [chosen]})
    here.quota("far", {"pods": "0"}, scopes=["CrossNamespacePodAffinity"])
    term = {"topologyKey": "x", "labelSelector": {}, "namespaceSelector": {}}
    far = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    assert here.create("pods", pod("a")).status == 201
    for name, spec, quota in (
        ("b", {"activeDeadlineSeconds": 5}, "ends"),
        ("c", {"priorityClassName": "system-node-critical"}, "high"),
        ("d", {"affinity": far}, "far"),
    ):
        refused = here.create("pods", pod(name, **spec))
        assert f"exceeded quota: {quota}, " in refused.message


def test_extended_resources_and_huge_pages(here: Space) -> None:
    here.quota("q", {"requests.example.com/gpu": "2"})
    gpu = {"example.com/gpu": "2"}
    assert here.create("pods", pod("a", container(requests=gpu, limits=gpu))).status == 201
    refused = here.create("pods", pod("b", container(requests=gpu, limits=gpu)))
    assert "requested: requests.example.com/gpu=2, used: requests.example.com/gpu=2" in (
        refused.message
    )


def test_a_resize_is_charged_by_what_it_adds(here: Space) -> None:
    here.quota("q", {"requests.cpu": "1"})
    assert here.create("pods", pod("a", container(requests={"cpu": "500m"}))).status == 201
    patch = {"Content_Type": "application/strategic-merge-patch+json"}

    def resize(cpu: str) -> Any:
        wanted = {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}
        return here.api("PATCH", here.path("pods", "a") + "/resize", {"spec": wanted}, **patch)

    done = resize("700m")
    assert done.status == 200, done.body
    assert here.used("q") == {"requests.cpu": "700m"}
    refused = resize("1500m")
    assert refused.message == (
        'pods "a" is forbidden: exceeded quota: q, requested: requests.cpu=800m, '
        "used: requests.cpu=700m, limited: requests.cpu=1"
    )


def test_quotas_are_validated(here: Space) -> None:
    refused = here.create(
        "resourcequotas",
        {"metadata": {"name": "q"}, "spec": {"hard": {"foo": "1", "pods": "1500m", "cpu": "-1"}}},
    )
    causes = [(c["field"], c["message"]) for c in refused.body["details"]["causes"]]
    assert causes == [
        ("spec.hard[cpu]", 'Invalid value: "-1": must be greater than or equal to 0'),
        (
            "spec.hard[foo]",
            'Invalid value: "foo": must be a standard resource type or fully qualified',
        ),
        ("spec.hard[foo]", 'Invalid value: "foo": must be a standard resource for quota'),
        ("spec.hard[pods]", 'Invalid value: "1500m": must be an integer'),
    ]
    refused = here.create(
        "resourcequotas",
        {
            "metadata": {"name": "q"},
            "spec": {
                "hard": {"services": "1"},
                "scopes": ["BestEffort", "NotBestEffort", "Odd"],
            },
        },
    )
    texts = [c["message"] for c in refused.body["details"]["causes"]]
    shown = 'Invalid value: ["BestEffort","NotBestEffort","Odd"]'
    assert texts == [
        f"{shown}: unsupported scope applied to resource",
        f"{shown}: unsupported scope applied to resource",
        f"{shown}: unsupported scope",
        f"{shown}: conflicting scopes",
    ]


def test_charges_survive_others_who_write_the_quota(here: Space) -> None:
    here.quota("q", {"configmaps": "10"})
    patch = {"Content_Type": "application/merge-patch+json"}
    there = here.path("resourcequotas", "q")

    def work(number: int) -> int | None:
        if number % 3 == 0:
            # May lose against the charges more often than a patch is tried.
            here.api("PATCH", there, {"metadata": {"annotations": {"n": str(number)}}}, **patch)
            return None
        made: int = here.create("configmaps", {"metadata": {"name": f"m{number}"}}).status
        return made

    with ThreadPoolExecutor(12) as pool:
        found = [status for status in pool.map(work, range(60)) if status is not None]
    assert (found.count(201), found.count(403)) == (10, 30)
    assert here.used("q") == {"configmaps": "10"}


def test_a_request_is_charged_to_every_quota_or_to_none(here: Space) -> None:
    here.quota("a", {"configmaps": "5"})
    here.quota("b", {"count/configmaps": "1"})
    assert here.create("configmaps", {"metadata": {"name": "x"}}).status == 201
    assert here.create("configmaps", {"metadata": {"name": "y"}}).status == 403
    assert here.used("a") == {"configmaps": "1"}
    assert here.used("b") == {"count/configmaps": "1"}


def test_kubectl_makes_and_describes_quotas(any_kubectl: Any, namespace: str) -> None:
    any_kubectl("create", "quota", "best", "-n", namespace, "--hard=pods=1", "--scopes=BestEffort")
    any_kubectl("create", "quota", "all", "-n", namespace, "--hard=cpu=2,count/jobs.batch=4")
    said = any_kubectl("describe", "quota", "best", "-n", namespace)
    assert "Matches all pods that do not have resource requirements set." in said
    assert "cpu" in any_kubectl("get", "quota", "all", "-n", namespace, "-o", "yaml")
    any_kubectl("delete", "quota", "best", "all", "-n", namespace)
