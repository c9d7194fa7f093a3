from typing import Any

import pytest
from tests.unit.controllers.stage import controlling, make_context

from winkube.base.types import JsonObject
from winkube.client.resource import ENDPOINTS, ENDPOINTSLICES, NODES, PODS, SERVICES
from winkube.controllers.config import ControllerConfig
from winkube.controllers.endpoints.backend import backends, pod_address, resolve_ports
from winkube.controllers.endpoints.legacy import EndpointsController, plan_subsets, truncate
from winkube.controllers.endpoints.mirror import is_mirrored, plan_mirror
from winkube.controllers.endpoints.slice import ZONE, EndpointSliceController
from winkube.controllers.endpoints.slice_plan import SlicePlan, plan_slices
from winkube.controllers.manager import ControllerManager
from winkube.testing.fake_api import FakeApi
from winkube.testing.tasks import eventually, running


def service(**spec: Any) -> JsonObject:
    ports = [{"name": "http", "port": 80, "targetPort": 8080}]
    metadata = {"name": "web", "namespace": "default", "uid": "s", "labels": {"team": "a"}}
    return {"metadata": metadata, "spec": {"selector": {"app": "web"}, "ports": ports, **spec}}


def pod(number: int, **facts: Any) -> JsonObject:
    metadata: JsonObject = {"name": f"p{number:03}", "namespace": "default", "uid": f"u{number}"}
    if facts.get("terminating"):
        metadata["deletionTimestamp"] = "2020-01-01T00:00:00Z"
    ready = {"type": "Ready", "status": "True" if facts.get("ready", True) else "False"}
    address = f"10.244.{number // 250}.{number % 250 + 1}"
    return {
        "metadata": metadata,
        "spec": {
            "nodeName": "n",
            "containers": facts.get("containers", []),
            **facts.get("spec", {}),
        },
        "status": {
            "phase": facts.get("phase", "Running"),
            "conditions": [ready],
            "podIP": facts.get("ip", address),
        },
    }


def plan(
    pods: list[JsonObject],
    existing: list[JsonObject] | None = None,
    subject: JsonObject | None = None,
) -> SlicePlan:
    owner = subject or service()
    return plan_slices(owner, "IPv4", backends(owner, pods, "IPv4"), existing or [], {"n": "z1"})


def conditions(slice_: JsonObject) -> list[dict[str, bool]]:
    return [endpoint["conditions"] for endpoint in slice_["endpoints"]]


def test_slice_says_all_there_is_to_say_about_a_pod() -> None:
    (made,) = plan([pod(1)]).create
    assert made["metadata"]["labels"] == {
        "team": "a",
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }
    assert made["metadata"]["ownerReferences"][0]["uid"] == "s"
    assert made["endpoints"] == [
        {
            "addresses": ["10.244.0.2"],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "targetRef": {"kind": "Pod", "namespace": "default", "name": "p001", "uid": "u1"},
            "nodeName": "n",
            "zone": "z1",
        }
    ]
    assert made["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]


def test_ready_serving_and_terminating() -> None:
    pods = [pod(1), pod(2, ready=False), pod(3, terminating=True)]
    (made,) = plan(pods).create
    assert conditions(made) == [
        {"ready": True, "serving": True, "terminating": False},
        {"ready": False, "serving": False, "terminating": False},
        {"ready": False, "serving": True, "terminating": True},
    ]
    (published,) = plan(pods, subject=service(publishNotReadyAddresses=True)).create
    assert [each["ready"] for each in conditions(published)] == [True, True, True]


@pytest.mark.parametrize(
    ("wanted", "hints"),
    [
        ("PreferClose", {"forZones": [{"name": "z1"}]}),
        ("PreferSameZone", {"forZones": [{"name": "z1"}]}),
        ("PreferSameNode", {"forZones": [{"name": "z1"}], "forNodes": [{"name": "n"}]}),
        (None, None),
    ],
)
def test_ready_endpoints_say_for_whom_they_are_meant_first(
    wanted: str | None, hints: JsonObject | None
) -> None:
    subject = service(trafficDistribution=wanted)
    (made,) = plan([pod(1), pod(2, ready=False)], subject=subject).create
    assert [each.get("hints") for each in made["endpoints"]] == [hints, None]
    # A change of mind changes the slices there are.
    (changed,) = plan(
        [pod(1)], [made], service() if hints else service(trafficDistribution="PreferClose")
    ).update
    assert ("hints" in changed["endpoints"][0]) is not bool(hints)


@pytest.mark.parametrize(
    ("notes", "told"),
    [
        ({"service.kubernetes.io/topology-mode": "Auto"}, False),
        ({"service.kubernetes.io/topology-mode": "other"}, True),
        (
            {
                "service.kubernetes.io/topology-mode": "Auto",
                "service.kubernetes.io/topology-aware-hints": "Disabled",
            },
            True,
        ),
    ],
)
def test_the_older_way_of_hints_keeps_the_newer_out(notes: dict[str, str], told: bool) -> None:
    subject = service(trafficDistribution="PreferClose")
    subject["metadata"]["annotations"] = notes
    (made,) = plan([pod(1)], subject=subject).create
    assert ("hints" in made["endpoints"][0]) is told


def test_pods_without_address_or_that_ended_are_left_out() -> None:
    (made,) = plan([pod(1, ip=""), pod(2, phase="Succeeded"), pod(3, phase="Failed")]).create
    assert made["endpoints"] == []


def test_slices_hold_a_hundred_and_change_little() -> None:
    pods = [pod(n) for n in range(250)]
    first = plan(pods)
    assert [len(each["endpoints"]) for each in first.create] == [100, 100, 50]
    existing = [{**each, "metadata": {**each["metadata"], "resourceVersion": "1"}}
                for each in first.create]  # fmt: skip
    assert plan(pods, existing) == SlicePlan()
    one_more = plan([*pods, pod(250)], existing)
    assert (len(one_more.create), len(one_more.update), len(one_more.delete)) == (0, 1, 0)
    fewer = plan(pods[:100], existing)
    assert len(fewer.delete) == 2
    emptied = plan([], existing)
    assert (len(emptied.update), len(emptied.delete)) == (1, 2)


def test_same_plan_makes_the_same_names() -> None:
    pods = [pod(n) for n in range(150)]
    names = [[each["metadata"]["name"] for each in plan(pods).create] for _ in range(2)]
    assert names[0] == names[1]
    assert len(set(names[0])) == 2


def test_named_ports_are_each_pods_own() -> None:
    subject = service(ports=[{"name": "http", "port": 80, "targetPort": "web"}])
    one = pod(1, containers=[{"ports": [{"name": "web", "containerPort": 8080}]}])
    two = pod(2, containers=[{"ports": [{"name": "web", "containerPort": 9090}]}])
    none = pod(3)
    made = plan([one, two, none], subject=subject).create
    numbers = sorted([port["port"] for port in each["ports"]] for each in made)
    assert numbers == [[], [8080], [9090]]


def test_protocol_has_to_match_for_a_named_port() -> None:
    subject = service(ports=[{"port": 53, "targetPort": "dns", "protocol": "UDP"}])
    udp = {"name": "dns", "containerPort": 53, "protocol": "UDP"}
    tcp = {"name": "dns", "containerPort": 5353}
    found = resolve_ports(subject, pod(1, containers=[{"ports": [tcp, udp]}]))
    assert found == (("", 53, "UDP", ""),)


def test_changed_ports_are_written_into_the_slice_there_is() -> None:
    (old,) = plan([pod(1)]).create
    moved = plan([pod(1)], [old], service(ports=[{"port": 81}]))
    (changed,) = moved.update
    assert (moved.create, moved.delete) == ((), ())
    assert (changed["metadata"]["name"], changed["ports"][0]["port"]) == (
        old["metadata"]["name"],
        81,
    )
    foreign = {**old, "metadata": {**old["metadata"], "ownerReferences": []}}
    moved = plan([pod(1)], [foreign], service(ports=[{"port": 81}]))
    assert (len(moved.create), moved.delete) == (1, (foreign,))


def test_a_recycled_slice_keeps_its_name_from_others() -> None:
    (empty,) = plan([]).create
    (filled,) = plan([pod(1)], [empty]).update
    assert filled["metadata"]["name"] == empty["metadata"]["name"]
    subject = service(ports=[{"name": "http", "port": 80, "targetPort": "web"}])
    named = {"name": "web", "containerPort": 8080}
    pods = [pod(1, containers=[{"ports": [named]}]), pod(2)]
    (other,) = plan(pods, [filled], subject).create
    assert other["metadata"]["name"] != filled["metadata"]["name"]


def test_headless_service_names_its_pods() -> None:
    spec = {"hostname": "p001", "subdomain": "web"}
    (made,) = plan([pod(1, spec=spec)], subject=service(clusterIP="None", ports=[])).create
    assert made["endpoints"][0]["hostname"] == "p001"
    assert made["metadata"]["labels"]["service.kubernetes.io/headless"] == ""


def test_legacy_subsets_group_by_ports_and_leave_terminating_pods_out() -> None:
    pods = [pod(1), pod(2, ready=False), pod(3, terminating=True)]
    (subset,) = plan_subsets(service(), backends(service(), pods, "IPv4"))
    assert [each["ip"] for each in subset["addresses"]] == ["10.244.0.2"]
    assert [each["ip"] for each in subset["notReadyAddresses"]] == ["10.244.0.3"]
    assert subset["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]


def endpoints(**metadata: Any) -> JsonObject:
    subset = {
        "addresses": [{"ip": "192.0.2.1"}, {"ip": "2001:db8::1"}],
        "notReadyAddresses": [{"ip": "192.0.2.2", "nodeName": "n"}],
        "ports": [{"port": 5432}],
    }
    body = {"name": "db", "namespace": "default", "uid": "e", **metadata}
    return {"metadata": body, "subsets": [subset]}


def test_hand_written_endpoints_are_mirrored_by_family() -> None:
    four, six = plan_mirror(endpoints())
    assert [(each["addressType"], len(each["endpoints"])) for each in (four, six)] == [
        ("IPv4", 2),
        ("IPv6", 1),
    ]
    assert [each["conditions"]["ready"] for each in four["endpoints"]] == [True, False]
    assert four["ports"] == [{"name": "", "protocol": "TCP", "port": 5432}]
    assert plan_mirror(endpoints()) == [four, six]


def test_what_is_not_mirrored() -> None:
    bare: JsonObject = {"spec": {}}
    assert is_mirrored(endpoints(), bare)
    assert not is_mirrored(endpoints(), None)
    assert not is_mirrored(endpoints(), service())
    skipped = endpoints(labels={"endpointslice.kubernetes.io/skip-mirror": "true"})
    assert not is_mirrored(skipped, bare)


async def test_mirror_follows_its_endpoints() -> None:
    api = FakeApi()
    manager = ControllerManager(api, ControllerConfig())
    api.seed(SERVICES, {"metadata": {"name": "db"}, "spec": {"ports": [{"port": 5432}]}})
    async with running(manager.run()):
        await api.create(ENDPOINTS, endpoints())
        await eventually(lambda: len(api.all(ENDPOINTSLICES)) == 2)
        subset = {"addresses": [{"ip": "192.0.2.9"}], "ports": [{"port": 1}]}
        await api.patch(ENDPOINTS, "db", {"subsets": [subset]})
        await eventually(
            lambda: (
                [each["endpoints"][0]["addresses"] for each in api.all(ENDPOINTSLICES)]
                == [["192.0.2.9"]]
            )
        )
        await api.delete(ENDPOINTS, "db")
        await eventually(lambda: not api.all(ENDPOINTSLICES))


PORTS = [
    {"name": "http", "port": 80, "targetPort": "http"},
    {"name": "fixed", "port": 81, "targetPort": 9000, "appProtocol": "kubernetes.io/h2c"},
    {"name": "udp", "port": 53, "protocol": "UDP", "targetPort": 53},
]
HTTP = [{"ports": [{"name": "http", "containerPort": 8080}]}]


def test_ports_stand_in_the_order_of_their_hashes() -> None:
    (made,) = plan([pod(1, containers=HTTP)], subject=service(ports=PORTS)).create
    assert [port["name"] for port in made["ports"]] == ["http", "udp", "fixed"]


def test_subsets_join_the_ports_that_the_same_addresses_offer() -> None:
    subject = service(ports=PORTS)
    found = backends(subject, [pod(1, containers=HTTP), pod(2)], "IPv4")
    subsets = [
        ([port["name"] for port in subset["ports"]], len(subset["addresses"]))
        for subset in plan_subsets(subject, found)
    ]
    assert sorted(subsets) == [(["http"], 1), (["udp", "fixed"], 2)]


def test_a_service_that_lost_its_pods_keeps_one_slice_without_ports() -> None:
    (made,) = plan([pod(1)]).create
    (left,) = plan([], [made]).update
    assert (left["endpoints"], left["ports"]) == ([], [])
    assert left["metadata"]["name"] == made["metadata"]["name"]


async def test_nothing_is_planned_while_a_slice_of_ours_is_not_in_the_cache() -> None:
    api = FakeApi()
    api.seed(SERVICES, service())
    context = make_context(api)
    subject = EndpointSliceController(context)
    async with running(context.informers.run()):
        await context.informers.synced()
    # From here on the cache shows nothing new.
    for _ in range(2):
        await subject.reconcile("default/web")
    assert [call[0] for call in api.calls if call[1] == "endpointslices"].count("create") == 1
    async with running(context.informers.run(), subject.run()):
        await eventually(lambda: len(context.informers[ENDPOINTSLICES].keys()) == 1)
        await api.delete(ENDPOINTSLICES, api.all(ENDPOINTSLICES)[0]["metadata"]["name"])
        await eventually(lambda: len(api.all(ENDPOINTSLICES)) == 1)


def test_addresses_in_odd_forms_are_written_in_the_usual_one() -> None:
    odd = ["010.0.0.1", "::ffff:10.0.0.2", "FD00:0::1"]
    written = {**endpoints(), "subsets": [{"addresses": [{"ip": ip} for ip in odd]}]}
    found = {
        slice_["addressType"]: [e["addresses"] for e in slice_["endpoints"]]
        for slice_ in plan_mirror(written)
    }
    assert found == {"IPv4": [["10.0.0.1"], ["10.0.0.2"]], "IPv6": [["fd00::1"]]}
    status = {"podIP": "010.0.0.1", "podIPs": [{"ip": "010.0.0.1"}, {"ip": "FD00::1"}]}
    assert pod_address({"status": status}, "IPv4") == "10.0.0.1"
    assert pod_address({"status": status}, "IPv6") == "fd00::1"
    assert pod_address({}, "IPv4") == ""


def counts(subsets: list[JsonObject]) -> list[tuple[int, int]]:
    return [
        (len(each.get("addresses") or ()), len(each.get("notReadyAddresses") or ()))
        for each in subsets
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([(999, 1)], [(999, 1)]),
        ([(990, 30)], [(990, 10)]),
        ([(1001, 30)], [(1000, 0)]),
        ([(600, 10), (600, 10)], [(500, 0), (500, 0)]),
        ([(300, 400), (200, 800)], [(300, 167), (200, 333)]),
    ],
)
def test_what_is_ready_stays_when_there_are_too_many(
    before: list[tuple[int, int]], after: list[tuple[int, int]]
) -> None:
    subsets: list[JsonObject] = [
        {
            "addresses": [{"ip": f"a{n}"} for n in range(ready)],
            "notReadyAddresses": [{"ip": f"b{n}"} for n in range(waiting)],
        }
        for ready, waiting in before
    ]
    assert counts(truncate(subsets)) == after


async def test_endpoints_say_that_there_are_more_and_take_it_back() -> None:
    api = FakeApi()
    api.seed(SERVICES, {**service(), "metadata": {"name": "web"}})
    note = "endpoints.kubernetes.io/over-capacity"
    for number in range(1001):
        fresh = pod(number, spec={})
        fresh["metadata"]["labels"] = {"app": "web"}
        api.seed(PODS, fresh)

    def found() -> JsonObject:
        return api.find(ENDPOINTS, "default/web") or {"metadata": {}}

    def said() -> str | None:
        return (found()["metadata"].get("annotations") or {}).get(note)

    async with controlling(EndpointsController(make_context(api))):
        await eventually(lambda: said() == "truncated", seconds=20)
        assert counts(found()["subsets"]) == [(1000, 0)]
        await api.delete(PODS, "p000", options={"gracePeriodSeconds": 0})
        await eventually(lambda: said() is None, seconds=20)
        assert counts(found()["subsets"]) == [(1000, 0)]


async def test_endpoints_go_with_their_service_whoever_wrote_them() -> None:
    api = FakeApi()
    plain = {"clusterIP": "10.96.0.9", "ports": [{"port": 80}]}
    api.seed(SERVICES, {"metadata": {"name": "web"}, "spec": plain})
    for name in ("web", "alone"):
        api.seed(ENDPOINTS, {"metadata": {"name": name}, "subsets": []})
    async with controlling(EndpointsController(make_context(api))):
        await api.delete(SERVICES, "web")
        await eventually(lambda: api.find(ENDPOINTS, "default/web") is None)
    assert api.find(ENDPOINTS, "default/alone") is not None


class Asked(dict[str, str]):
    """A selector that counts how often it is compared."""

    times = 0

    def items(self) -> Any:
        Asked.times += 1
        return super().items()


@pytest.mark.parametrize("kinds", [1, 100])
async def test_many_changes_are_compared_with_many_services_together(kinds: int) -> None:
    api = FakeApi()
    subject = EndpointSliceController(make_context(api))
    for number in range(200):
        name = f"s-{number}"
        service = {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": Asked(app="web" if number else "other")},
        }
        subject.services._store(f"default/{name}", service)
    while len(subject.queue):
        async with subject.queue.take():
            pass
    Asked.times = 0
    for number in range(100):
        pod = {
            "metadata": {
                "name": f"p-{number}",
                "namespace": "default",
                "labels": {"app": "web", "kind": str(number % kinds)},
            },
            "spec": {"nodeName": "n"},
            "status": {"podIP": f"10.0.0.{number}"},
        }
        subject.pods._store(f"default/p-{number}", pod)
    assert Asked.times == 0
    await eventually(lambda: len(subject.queue) > 0)
    assert Asked.times <= 200
    # With too many different pods to compare with, all services are looked at.
    assert len(subject.queue) == (199 if kinds == 1 else 200)


async def test_endpoints_are_in_the_zone_that_their_node_is_in_now() -> None:
    api = FakeApi()
    api.seed(SERVICES, service())
    api.seed(NODES, {"metadata": {"name": "n", "labels": {ZONE: "east"}}})
    selected = pod(1)
    selected["metadata"]["labels"] = {"app": "web"}
    api.seed(PODS, selected)

    def zones() -> list[str]:
        found = [each for slice_ in api.all(ENDPOINTSLICES) for each in slice_["endpoints"]]
        return [each.get("zone", "") for each in found]

    async with controlling(EndpointSliceController(make_context(api))):
        await eventually(lambda: zones() == ["east"])
        await api.patch(NODES, "n", {"metadata": {"labels": {ZONE: "west"}}})
        await api.patch(PODS, "p001", {"status": {"podIP": "10.244.9.9"}}, subresource="status")
        await eventually(lambda: zones() == ["west"])
