"""The HNS plane against an HNS in memory."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.proxy.scene import service_port

from winkube.hns.errors import Code, HnsError, HnsUnavailableError
from winkube.proxy.errors import PodNetworkError
from winkube.proxy.service import Backend, ServicePort
from winkube.proxy.windows import HnsPlane

LOCAL, REMOTE = Backend("10.244.1.3", 80, local=True), Backend("10.244.2.4", 80)
WEB = "default/web"


MakeHns = Callable[..., Any]


async def node(make_hns: MakeHns, **options: Any) -> tuple[Any, HnsPlane]:
    """A node with its network and one local pod."""
    hns = make_hns(**options)
    network = hns.seed("Network", Name="cbr0", Type="L2Bridge")
    hns.seed(
        "Endpoint",
        Name="pod",
        HostComputeNetwork=network,
        IpConfigurations=[{"IpAddress": LOCAL.ip}],
    )
    return hns, HnsPlane(hns, "cbr0")


def fronts(hns: Any) -> dict[tuple[str, int], int]:
    """(vip, port) -> number of backends."""
    return {
        ("".join(doc["FrontendVIPs"]), doc["PortMappings"][0]["ExternalPort"]): len(
            doc["HostComputeEndpoints"]
        )
        for doc in hns.all("LoadBalancer")
    }


async def test_a_service_gets_a_balancer_for_its_cluster_ip_and_one_for_its_node_port(
    make_hns: MakeHns,
) -> None:
    hns, plane = await node(make_hns)
    assert await plane.replace({WEB: (service_port(LOCAL, REMOTE, node_port=30080),)}) == set()
    assert fronts(hns) == {("10.96.0.7", 80): 2, ("", 30080): 2}
    remote = next(doc for doc in hns.all("Endpoint") if doc.get("Flags") == 1)
    assert remote["MacAddress"] == "02-11-0a-f4-02-04"
    assert remote["IpConfigurations"] == [{"IpAddress": REMOTE.ip}]


async def test_only_changed_services_are_touched(make_hns: MakeHns) -> None:
    hns, plane = await node(make_hns)
    other = service_port(REMOTE, service="default/other", cluster_ip="10.96.0.8")
    await plane.replace({WEB: (service_port(LOCAL),), "default/other": (other,)})
    hns.calls.clear()
    await plane.update({WEB: (service_port(LOCAL),)})
    assert hns.writes() == []
    await plane.update({WEB: (service_port(LOCAL, REMOTE),)})
    # Before HNS 15.4 a load balancer cannot be changed, only made again.
    assert hns.writes() == [("delete", "LoadBalancer"), ("create", "LoadBalancer")]


async def test_a_recent_hns_changes_balancers_in_place(make_hns: MakeHns) -> None:
    hns, plane = await node(make_hns, version=(15, 4))
    await plane.replace({WEB: (service_port(LOCAL),)})
    hns.calls.clear()
    await plane.update({WEB: (service_port(LOCAL, REMOTE),)})
    assert hns.writes() == [("create", "Endpoint"), ("modify", "LoadBalancer")]
    assert fronts(hns) == {("10.96.0.7", 80): 2}


async def test_a_removed_service_takes_its_balancers_and_remote_endpoints_along(
    make_hns: MakeHns,
) -> None:
    hns, plane = await node(make_hns)
    await plane.replace({WEB: (service_port(LOCAL, REMOTE, node_port=30080),)})
    await plane.update({WEB: ()})
    assert fronts(hns) == {}
    assert [doc["Name"] for doc in hns.all("Endpoint")] == ["pod"]


async def test_a_service_without_backends_has_no_balancer(make_hns: MakeHns) -> None:
    hns, plane = await node(make_hns)
    await plane.replace({WEB: (service_port(LOCAL),)})
    assert await plane.update({WEB: (service_port(),)}) == set()
    assert fronts(hns) == {}


async def test_a_restarted_proxy_adopts_what_fits_and_removes_the_rest(make_hns: MakeHns) -> None:
    hns, plane = await node(make_hns)
    gone = service_port(Backend("10.244.3.9", 80), service="default/gone", cluster_ip="10.96.0.9")
    await plane.replace({WEB: (service_port(LOCAL, REMOTE),), "default/gone": (gone,)})
    hns.calls.clear()
    await HnsPlane(hns, "cbr0").replace({WEB: (service_port(LOCAL, REMOTE),)})
    assert sorted(hns.writes()) == [("delete", "Endpoint"), ("delete", "LoadBalancer")]
    assert fronts(hns) == {("10.96.0.7", 80): 2}


async def test_a_local_pod_unknown_to_hns_is_tried_again_later(make_hns: MakeHns) -> None:
    hns, plane = await node(make_hns)
    young = Backend("10.244.1.9", 80, local=True)
    assert await plane.replace({WEB: (service_port(young),)}) == {WEB}
    assert fronts(hns) == {}
    network = hns.all("Network")[0]["ID"]
    hns.seed("Endpoint", HostComputeNetwork=network, IpConfigurations=[{"IpAddress": young.ip}])
    assert await plane.update({WEB: (service_port(young),)}) == set()
    assert fronts(hns) == {("10.96.0.7", 80): 1}


async def test_a_remote_stand_in_for_an_address_that_became_local_is_replaced(
    make_hns: MakeHns,
) -> None:
    hns, plane = await node(make_hns)
    was = Backend("10.244.1.9", 80)
    await plane.replace({WEB: (service_port(was),)})
    network = hns.all("Network")[0]["ID"]
    config = [{"IpAddress": was.ip}]
    local = hns.seed("Endpoint", HostComputeNetwork=network, IpConfigurations=config)
    await plane.update({WEB: (service_port(Backend(was.ip, 80, local=True)),)})
    assert hns.all("LoadBalancer")[0]["HostComputeEndpoints"] == [local]
    assert not [doc for doc in hns.all("Endpoint") if doc.get("Flags") == 1]


async def test_a_replaced_network_calls_for_a_full_sync(make_hns: MakeHns) -> None:
    hns, plane = await node(make_hns)
    await plane.replace({WEB: (service_port(REMOTE),)})
    hns.documents["Network"].clear()
    hns.seed("Network", Name="cbr0", Type="L2Bridge")
    assert not await plane.is_intact()
    with pytest.raises(PodNetworkError):
        await plane.update({WEB: (service_port(REMOTE),)})


async def test_no_network_yet_is_an_error_the_loop_retries(make_hns: MakeHns) -> None:
    with pytest.raises(PodNetworkError, match="no network 'cbr0' yet"):
        await HnsPlane(make_hns(), "cbr0").replace({})


async def test_one_bad_balancer_does_not_hold_up_the_others(make_hns: MakeHns) -> None:
    hns, plane = await node(make_hns)
    hns.fail_create["LoadBalancer"] = HnsError(Code.PORT_NOT_FOUND)
    other = service_port(LOCAL, service="default/other", cluster_ip="10.96.0.8")
    assert len(await plane.replace({WEB: (service_port(LOCAL),), "default/other": (other,)})) == 1
    assert len(fronts(hns)) == 1


async def test_an_hns_that_is_down_fails_the_whole_sync(make_hns: MakeHns) -> None:
    hns, plane = await node(make_hns)
    hns.down = True
    with pytest.raises(HnsUnavailableError):
        await plane.replace({WEB: (service_port(LOCAL),)})


async def test_a_balancer_that_hns_brought_back_makes_room(make_hns: MakeHns) -> None:
    hns, plane = await node(make_hns)
    await plane.replace({})
    mapping = {"Protocol": 6, "ExternalPort": 80, "InternalPort": 1}
    hns.seed("LoadBalancer", FrontendVIPs=["10.96.0.7"], PortMappings=[mapping])
    assert await plane.update({WEB: (service_port(LOCAL),)}) == set()
    assert fronts(hns) == {("10.96.0.7", 80): 1}


async def test_the_first_service_keeps_a_front_end_that_two_want(make_hns: MakeHns) -> None:
    hns, plane = await node(make_hns)
    mine = service_port(LOCAL, external_ips=("192.0.2.1",))
    theirs = service_port(
        REMOTE, service="default/other", cluster_ip="10.96.0.8", external_ips=("192.0.2.1",)
    )
    await plane.replace({WEB: (mine,), "default/other": (theirs,)})
    assert fronts(hns) == {("10.96.0.7", 80): 1, ("192.0.2.1", 80): 1, ("10.96.0.8", 80): 1}
    # It is the other's turn when the first gives the front end up, whoever changed.
    assert await plane.update({WEB: (service_port(LOCAL),)}) == {"default/other"}
    assert await plane.update({"default/other": (theirs,)}) == set()
    assert fronts(hns) == {("10.96.0.7", 80): 1, ("192.0.2.1", 80): 1, ("10.96.0.8", 80): 1}
    assert await plane.update({WEB: ()}) == set()


@pytest.mark.parametrize("first", [WEB, "default/new"])
async def test_a_service_may_follow_another_in_the_same_sync(make_hns: MakeHns, first: str) -> None:
    hns, plane = await node(make_hns)
    await plane.replace({WEB: (service_port(LOCAL, node_port=30080),)})
    new = service_port(REMOTE, service="default/new", cluster_ip="10.96.0.8", node_port=30080)
    changes: dict[str, tuple[ServicePort, ...]] = {WEB: (), "default/new": (new,)}
    assert await plane.update({first: changes[first], **changes}) == set()
    assert fronts(hns) == {("10.96.0.8", 80): 1, ("", 30080): 1}
