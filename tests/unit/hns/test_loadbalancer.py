from collections.abc import Callable
from typing import Any

import pytest

from winkube.hns.api import HnsApi
from winkube.hns.dataplane.types import Element
from winkube.hns.errors import Code, HnsError
from winkube.hns.v1_api import V1Api
from winkube.testing.fake_dataplane import FakeDataplane

Json = dict[str, Any]


@pytest.fixture
def remotes(api: HnsApi, network: str) -> list[str]:
    return make_remotes(api, network)


def make_remotes(api: HnsApi, network: str) -> list[str]:
    return [
        api.call(
            "Endpoint",
            "create",
            {
                "Settings": {
                    "HostComputeNetwork": network,
                    "Flags": 1,
                    "IpConfigurations": [{"IpAddress": f"10.244.2.{last}"}],
                }
            },
        )["ID"]
        for last in (5, 6)
    ]


def settings(endpoints: list[str], vip: str = "10.96.0.1", **more: Any) -> Json:
    mapping = {"Protocol": 6, "InternalPort": 8080, "ExternalPort": 80}
    mapping |= {key: more.pop(key) for key in list(more) if key in (*mapping, "DistributionType")}
    vips = [vip] if vip else []
    return {
        "HostComputeEndpoints": endpoints,
        "FrontendVIPs": vips,
        "PortMappings": [mapping],
        **more,
    }


def create(api: HnsApi, endpoints: list[str], vip: str = "10.96.0.1", **more: Any) -> Json:
    made: Json = api.call("LoadBalancer", "create", {"Settings": settings(endpoints, vip, **more)})
    return made


def rules(api: HnsApi, guid: str) -> frozenset[Element]:
    dataplane = api.registry.dataplane
    assert isinstance(dataplane, FakeDataplane)
    return dataplane.rules[guid].elements if guid in dataplane.rules else frozenset()


def test_a_virtual_address_becomes_map_elements(api: HnsApi, remotes: list[str]) -> None:
    made = create(api, remotes)
    assert rules(api, made["ID"]) == {
        Element("frontends", "10.96.0.1 . tcp . 80", "goto spread-2-0"),
        Element("vips", "10.96.0.1"),
        Element("backends", "10.96.0.1 . tcp . 80 . 0x57000000", "10.244.2.5 . 8080"),
        Element("backends", "10.96.0.1 . tcp . 80 . 0x57000001", "10.244.2.6 . 8080"),
    }


def test_no_virtual_address_is_a_node_port(api: HnsApi, remotes: list[str]) -> None:
    made = create(api, remotes[:1], "", Protocol=17, ExternalPort=30053, Flags=1)
    assert rules(api, made["ID"]) == {
        Element("nodeports", "udp . 30053", "goto spread-1-0dn"),
        Element("nodeport-backends", "udp . 30053 . 0x57010000", "10.244.2.5 . 8080"),
    }


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"InternalPort": 0}, Code.INVALID_INTERNAL_PORT),
        ({"ExternalPort": 70000}, Code.INVALID_POLICY),
        ({"Protocol": 1}, Code.MAPPING_NOT_SUPPORTED),
        ({"PortMappings": []}, Code.INVALID_POLICY),
        ({"FrontendVIPs": ["x"]}, Code.INVALID_IP),
        ({"Flags": 2}, Code.REQUEST_UNSUPPORTED),
        (
            {"HostComputeEndpoints": ["11111111-1111-1111-1111-111111111111"]},
            Code.ENDPOINT_NOT_FOUND,
        ),
    ],
)
def test_bad_load_balancers_are_refused_by_code(
    api: HnsApi, remotes: list[str], more: Json, code: Code
) -> None:
    with pytest.raises(HnsError) as caught:
        create(api, remotes, **more)
    assert caught.value.code == code
    assert api.call("LoadBalancer", "enumerate", {}) == []


def test_a_local_backend_needs_a_port_on_the_switch(api: HnsApi, network: str) -> None:
    endpoint = api.call("Endpoint", "create", {"Settings": {"HostComputeNetwork": network}})
    with pytest.raises(HnsError) as caught:
        create(api, [endpoint["ID"]])
    assert caught.value.code == Code.PORT_NOT_FOUND


def test_a_frontend_is_unique_until_it_is_deleted(api: HnsApi, remotes: list[str]) -> None:
    made = create(api, remotes)
    with pytest.raises(HnsError) as caught:
        create(api, remotes[:1])
    assert caught.value.code == Code.PORT_ALREADY_EXISTS
    create(api, remotes, ExternalPort=81)
    create(api, remotes, "")
    api.call("LoadBalancer", "delete", {"Id": made["ID"]})
    assert rules(api, made["ID"]) == frozenset()
    create(api, remotes)


def test_modify_needs_a_version_that_can(
    api: HnsApi, remotes: list[str], make_api: Callable[..., HnsApi]
) -> None:
    made = create(api, remotes)
    request = {"Id": made["ID"], "Settings": settings(remotes[:1])}
    with pytest.raises(HnsError) as caught:
        api.call("LoadBalancer", "modify", request)
    assert caught.value.code == Code.NOT_IMPLEMENTED
    newer = make_api((15, 5))
    subnets = [{"IpAddressPrefix": "10.244.1.0/24"}]
    network = {"Type": "L2Bridge", "Ipams": [{"Subnets": subnets}]}
    guid = newer.call("Network", "create", {"Settings": network})["ID"]
    others = make_remotes(newer, guid)
    balancer = create(newer, others)["ID"]
    request = {"Id": balancer, "Settings": settings(others[1:], ExternalPort=81)}
    changed = newer.call("LoadBalancer", "modify", request)
    assert changed["HostComputeEndpoints"] == others[1:]
    assert Element("frontends", "10.96.0.1 . tcp . 81", "goto spread-1-0") in rules(newer, balancer)
    create(newer, others)  # the old port is free again


def test_affinity_is_ignored_where_hns_lacks_it(api: HnsApi, remotes: list[str]) -> None:
    made = create(api, remotes, DistributionType=2)
    assert any(item.value == "goto spread-2-0" for item in rules(api, made["ID"]))
    assert made["PortMappings"][0]["DistributionType"] == 2


def test_a_deleted_backend_leaves(api: HnsApi, remotes: list[str]) -> None:
    made = create(api, remotes)
    api.call("Endpoint", "delete", {"Id": remotes[0]})
    shown = api.call("LoadBalancer", "query", {"Id": made["ID"]})
    assert shown["HostComputeEndpoints"] == remotes[1:]
    assert len(rules(api, made["ID"])) == 3
    api.call("Endpoint", "delete", {"Id": remotes[1]})
    assert rules(api, made["ID"]) == frozenset()


def test_ephemeral_ports_run_out_without_dsr(make_api: Callable[..., HnsApi]) -> None:
    api = make_api(ephemeral_port_blocks=1)
    create(api, [])
    with pytest.raises(HnsError) as caught:
        create(api, [], ExternalPort=81)
    assert caught.value.code == Code.PORT_ALREADY_EXISTS
    create(api, [], ExternalPort=82, Flags=1)


def test_policy_lists_are_the_v1_view(api: HnsApi, remotes: list[str]) -> None:
    v1 = V1Api(api)
    elb = {
        "Type": "ELB",
        "Protocol": 6,
        "InternalPort": 80,
        "ExternalPort": 8080,
        "VIPs": ["10.96.0.4"],
        "ILB": True,
    }
    body = {"References": [f"/endpoints/{remotes[0]}"], "Policies": [elb]}
    made = v1.call("POST", "/policylists/", body)
    assert made["References"] == body["References"]
    assert made["Policies"][0] == {**elb, "SourceVIP": "", "IsDSR": False}
    [balancer] = api.call("LoadBalancer", "list", {})
    assert balancer["PortMappings"][0]["Flags"] == 1
    route = {"Type": "ROUTE", "DestinationPrefix": "10.96.0.0/12", "NeedEncap": True}
    made_route = v1.call("POST", "/policylists/", {**body, "Policies": [route]})
    assert len(v1.call("GET", "/policylists/", None)) == 2
    for guid in (made["ID"], made_route["ID"]):
        v1.call("DELETE", f"/policylists/{guid}", None)
    assert v1.call("GET", "/policylists/", None) == []
