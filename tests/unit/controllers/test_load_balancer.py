from winkube.base.types import JsonObject
from winkube.client.resource import EVENTS, NODES, SERVICES
from winkube.controllers.config import ControllerConfig
from winkube.controllers.load_balancer import Pool, plan_address, plan_addresses, plan_groups
from winkube.controllers.manager import ControllerManager
from winkube.testing.fake_api import FakeApi
from winkube.testing.tasks import eventually, running


def service(name: str, port: int = 80, **spec: object) -> JsonObject:
    ports = [{"port": port}]
    return {"metadata": {"name": name}, "spec": {"type": "LoadBalancer", "ports": ports, **spec}}


def node(name: str, address: str) -> JsonObject:
    status = {
        "addresses": [{"type": "InternalIP", "address": address}],
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return {"metadata": {"name": name}, "status": status}


def test_nodes_are_shared_by_services_with_different_ports() -> None:
    taken = {("1.1.1.1", "TCP", 80)}
    assert plan_address(service("a", 81), ["1.1.1.1"], taken, shared=True) == "1.1.1.1"
    assert plan_address(service("a"), ["1.1.1.1", "2.2.2.2"], taken, shared=True) == "2.2.2.2"
    assert plan_address(service("a"), ["1.1.1.1"], taken, shared=True) is None


def test_pool_addresses_belong_to_one_service() -> None:
    taken = {("1.1.1.1", "TCP", 80)}
    assert plan_address(service("a", 81), ["1.1.1.1", "1.1.1.2"], taken, shared=False) == "1.1.1.2"


def test_asked_for_address_is_given_or_nothing() -> None:
    wanted = service("a", loadBalancerIP="2.2.2.2")
    assert plan_address(wanted, ["1.1.1.1", "2.2.2.2"], set(), shared=True) == "2.2.2.2"
    assert plan_address(wanted, ["1.1.1.1"], set(), shared=True) is None


def test_pool_is_addresses_and_networks() -> None:
    pool = Pool(["1.1.1.1", "2.2.2.0/30", "3.3.3.0/31"])
    assert list(pool) == ["1.1.1.1", "2.2.2.1", "2.2.2.2", "3.3.3.0", "3.3.3.1"]
    assert all(address in pool for address in pool)
    assert not any(text in pool for text in ("2.2.2.0", "2.2.2.3", "1.1.1.2", "::1", "name", ""))


def test_a_pool_may_be_larger_than_any_list() -> None:
    pool = Pool(["fd00::/64", "10.0.0.0/8"])
    assert plan_address(service("a"), pool, set(), shared=False) == "fd00::1"
    wanted = service("a", loadBalancerIP="10.255.255.254")
    assert plan_address(wanted, pool, set(), shared=False) == "10.255.255.254"
    beyond = service("a", loadBalancerIP="11.0.0.1")
    assert plan_address(beyond, pool, set(), shared=False) is None


def test_a_service_gets_an_address_of_each_of_its_families() -> None:
    nodes = ["172.30.0.11", "fd00:172:30::11", "172.30.0.12", "fd00:172:30::12"]
    taken = {("172.30.0.11", "TCP", 80)}
    for families, expected in (
        (["IPv4"], ["172.30.0.12"]),
        (["IPv6"], ["fd00:172:30::11"]),
        (["IPv6", "IPv4"], ["fd00:172:30::11", "172.30.0.12"]),
    ):
        web = service("web", ipFamilies=families)
        assert plan_addresses(web, plan_groups(web, nodes), taken, shared=True) == expected
    both = service("web", ipFamilies=["IPv4", "IPv6"])
    pool = Pool(["fd00::/64", "10.0.0.0/8"])
    chosen = plan_addresses(both, plan_groups(both, pool), set(), shared=False)
    assert chosen == ["10.0.0.1", "fd00::1"]
    # There is no IPv6 to have, or none that is free.
    assert len(plan_groups(both, Pool(["10.0.0.0/8"]))) == 1
    used = {("fd00:172:30::11", "TCP", 80), ("fd00:172:30::12", "TCP", 80)}
    assert plan_addresses(both, plan_groups(both, nodes), used, shared=True) == []


async def test_a_node_of_two_families_lends_both_addresses() -> None:
    api = FakeApi()
    manager = ControllerManager(api, ControllerConfig())
    dual = node("lin-1", "172.30.0.11")
    second = {"type": "InternalIP", "address": "fd00:172:30::11"}
    dual["status"]["addresses"].append(second)
    async with running(manager.run()):
        await manager.ready.wait()
        await api.create(NODES, dual)
        await api.create(SERVICES, service("web", ipFamilies=["IPv4", "IPv6"]))
        both = ["172.30.0.11", "fd00:172:30::11"]
        await eventually(lambda: [e["ip"] for e in ingress(api, "web")] == both)
        await api.create(SERVICES, service("other", 81))
        await eventually(lambda: [e["ip"] for e in ingress(api, "other")] == both[:1])


def ingress(api: FakeApi, name: str) -> list[JsonObject]:
    found = api.find(SERVICES, f"default/{name}") or {}
    listed: list[JsonObject] = found.get("status", {}).get("loadBalancer", {}).get("ingress") or []
    return listed


async def test_service_gets_and_loses_its_address() -> None:
    api = FakeApi()
    manager = ControllerManager(api, ControllerConfig())
    async with running(manager.run()):
        await manager.ready.wait()
        await api.create(SERVICES, service("web"))
        await api.create(NODES, node("win-1", "172.30.0.11"))
        await eventually(lambda: [e["ip"] for e in ingress(api, "web")] == ["172.30.0.11"])
        await api.patch(SERVICES, "web", {"spec": {"type": "ClusterIP"}})
        await eventually(lambda: not ingress(api, "web"))


async def test_a_service_that_waits_gets_what_another_gives_up() -> None:
    api = FakeApi()
    manager = ControllerManager(api, ControllerConfig())
    async with running(manager.run()):
        await manager.ready.wait()
        await api.create(NODES, node("win-1", "172.30.0.11"))
        await api.create(SERVICES, service("first"))
        await eventually(lambda: bool(ingress(api, "first")))
        await api.create(SERVICES, service("second"))
        await eventually(lambda: "SyncLoadBalancerFailed" in reasons(api))
        assert not ingress(api, "second")
        await api.delete(SERVICES, "first")
        await eventually(lambda: bool(ingress(api, "second")))
        await api.create(SERVICES, service("third"))
        await api.patch(SERVICES, "second", {"spec": {"ports": [{"port": 81}]}})
        await eventually(lambda: bool(ingress(api, "third")))


def reasons(api: FakeApi) -> set[str]:
    return {event["reason"] for event in api.all(EVENTS)}
