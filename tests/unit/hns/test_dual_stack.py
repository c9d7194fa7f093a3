"""Endpoints and load balancers of two address families, which HNS has from 11.10 on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from winkube.hns.api import HnsApi
from winkube.hns.config import HnsConfig
from winkube.hns.dataplane.rules import tables
from winkube.hns.errors import Code, HnsError
from winkube.hns.store import MemoryStore
from winkube.hns.v1_api import V1Api
from winkube.testing.fake_dataplane import FakeDataplane

Json = dict[str, Any]
NEW, OLD = (13, 3), (9, 5)
BOTH: list[Json] = [
    {"IpAddress": "10.244.1.5", "PrefixLength": 24},
    {"IpAddress": "fd00:10:244:1::5", "PrefixLength": 64},
]
SECOND = "fd00:172:30::11"


@pytest.fixture
def api(make_api: Callable[..., HnsApi]) -> HnsApi:
    return make_api(NEW, second_ip=SECOND)


def make_network(api: HnsApi, *prefixes: str) -> str:
    subnets = [
        {
            "IpAddressPrefix": prefix,
            "Routes": [{"NextHop": gateway, "DestinationPrefix": everywhere}],
        }
        for prefix, gateway, everywhere in (
            ("10.244.1.0/24", "10.244.1.1", "0.0.0.0/0"),
            ("fd00:10:244:1::/64", "fd00:10:244:1::1", "::/0"),
        )
        if not prefixes or prefix in prefixes
    ]
    settings = {"Name": "cbr0", "Type": "L2Bridge", "Ipams": [{"Subnets": subnets}]}
    return str(api.call("Network", "create", {"Settings": settings})["ID"])


def make_endpoint(api: HnsApi, addresses: list[Json], **more: Any) -> Json:
    network = next(iter(api.call("Network", "list", None)))["ID"]
    settings = {"HostComputeNetwork": network, "IpConfigurations": addresses, **more}
    made: Json = api.call("Endpoint", "create", {"Settings": settings})
    return made


def attach(api: HnsApi, endpoint: str) -> None:
    namespace = api.call("Namespace", "create", {"Settings": {}})["ID"]
    settings = {"EndpointId": endpoint}
    request = {"ResourceType": "Endpoint", "RequestType": "Add", "Settings": settings}
    api.call("Namespace", "modify", {"Id": namespace, "Settings": request})


def plane(api: HnsApi) -> FakeDataplane:
    dataplane = api.registry.dataplane
    assert isinstance(dataplane, FakeDataplane)
    return dataplane


def test_an_endpoint_gets_both_addresses_and_the_routes_of_both_subnets(api: HnsApi) -> None:
    make_network(api)
    made = make_endpoint(api, BOTH)
    assert made["IpConfigurations"] == BOTH
    attach(api, made["ID"])
    (port,) = plane(api).ports.values()
    assert (port.address, port.second) == ("10.244.1.5/24", "fd00:10:244:1::5/64")
    hops = [(route.prefix, route.next_hop) for route in port.routes]
    assert hops == [("0.0.0.0/0", "10.244.1.1"), ("::/0", "fd00:10:244:1::1")]
    shown = V1Api(api).call("GET", f"/endpoints/{made['ID']}", None)
    assert (shown["IPAddress"], shown["IPv6Address"]) == ("10.244.1.5", "fd00:10:244:1::5")
    assert (shown["IPv6PrefixLength"], shown["GatewayAddressV6"]) == (64, "fd00:10:244:1::1")


def test_an_address_of_either_family_is_taken_once(api: HnsApi) -> None:
    make_network(api)
    made = make_endpoint(api, BOTH)
    other: list[Json] = [{"IpAddress": "10.244.1.6"}, BOTH[1]]
    with pytest.raises(HnsError) as caught:
        make_endpoint(api, other)
    assert caught.value.code == Code.OBJECT_ALREADY_EXISTS
    api.call("Endpoint", "delete", {"Id": made["ID"]})
    make_endpoint(api, other)


@pytest.mark.parametrize(
    ("addresses", "code"),
    [
        (["fd00:10:244:1::5"], Code.INVALID_IP),
        (["fd00:10:244:1::5", "10.244.1.5"], Code.INVALID_IP),
        (["10.244.1.5", "10.244.1.6"], Code.INVALID_IP),
        (["10.244.1.5", "fd00:10:244:9::5"], Code.INVALID_IP),
        (["10.244.1.5", "fd00:10:244:1::1"], Code.ADDR_INVALID_OR_RESERVED),
        (["10.244.1.5", "fd00:10:244:1::5%eth0"], Code.INVALID_IP),
        (["10.244.1.5", "fd00:10:244:1::5", "fd00:10:244:1::6"], Code.REQUEST_UNSUPPORTED),
    ],
)
def test_an_endpoint_has_ipv4_first_and_one_address_of_a_family(
    api: HnsApi, addresses: list[str], code: Code
) -> None:
    make_network(api)
    with pytest.raises(HnsError) as caught:
        make_endpoint(api, [{"IpAddress": address} for address in addresses])
    assert caught.value.code == code


@pytest.mark.parametrize(("version", "second"), [(OLD, SECOND), (NEW, "")])
def test_an_old_hns_or_a_host_of_one_family_has_no_ipv6(
    make_api: Callable[..., HnsApi], version: tuple[int, int], second: str
) -> None:
    api = make_api(version, second_ip=second)
    with pytest.raises(HnsError) as caught:
        make_network(api)
    assert caught.value.code == Code.INVALID_PREFIX
    make_network(api, "10.244.1.0/24")
    with pytest.raises(HnsError) as caught:
        make_endpoint(api, BOTH)
    assert caught.value.code == Code.REQUEST_UNSUPPORTED


def balancer(api: HnsApi, endpoint: str, vip: str, flags: int) -> Json:
    mapping = {"Protocol": 6, "InternalPort": 8080, "ExternalPort": 80}
    settings = {
        "HostComputeEndpoints": [endpoint],
        "FrontendVIPs": [vip] if vip else [],
        "PortMappings": [mapping],
        "Flags": flags,
    }
    made: Json = api.call("LoadBalancer", "create", {"Settings": settings})
    return made


@pytest.mark.parametrize(("four", "six"), [("10.96.0.7", "fd00:10:96::7"), ("", "")])
def test_a_service_of_two_families_is_two_load_balancers(api: HnsApi, four: str, six: str) -> None:
    make_network(api)
    endpoint = make_endpoint(api, BOTH)["ID"]
    attach(api, endpoint)
    made = [balancer(api, endpoint, four, 0)["ID"], balancer(api, endpoint, six, 2)["ID"]]
    values = []
    for guid in made:
        elements = plane(api).rules[guid].elements
        (table,) = {element.table for element in elements}
        (target,) = (e.value for e in elements if e.set_name.endswith("backends"))
        values.append((table, target))
    assert values == [("ip", "10.244.1.5 . 8080"), ("ip6", "fd00:10:244:1::5 . 8080")]
    with pytest.raises(HnsError) as caught:
        balancer(api, endpoint, six, 2)
    assert caught.value.code == Code.PORT_ALREADY_EXISTS


@pytest.mark.parametrize(("vip", "flags"), [("fd00:10:96::7", 0), ("10.96.0.7", 2)])
def test_a_virtual_address_is_of_its_load_balancer_s_family(
    api: HnsApi, vip: str, flags: int
) -> None:
    make_network(api)
    remote = make_endpoint(api, [{"IpAddress": "fd00:10:244:2::5"}], Flags=1)
    assert remote["IpConfigurations"][0]["PrefixLength"] == 128
    with pytest.raises(HnsError) as caught:
        balancer(api, remote["ID"], vip, flags)
    assert caught.value.code == Code.INVALID_IP


def test_host_ports_and_access_lists_hold_for_both_families(api: HnsApi) -> None:
    make_network(api)
    mapping = {"Protocol": 6, "InternalPort": 80, "ExternalPort": 8080}
    block = {"Action": "Block", "Direction": "In", "Priority": 200}
    allow = {**block, "Action": "Allow", "RemoteAddresses": "10.0.0.0/8", "Priority": 100}
    policies = [
        {"Type": "PortMapping", "Settings": mapping},
        {"Type": "PortMapping", "Settings": {**mapping, "Flags": 2}},
        {"Type": "ACL", "Settings": allow},
        {"Type": "ACL", "Settings": block},
    ]
    made = make_endpoint(api, BOTH, Policies=policies)
    attach(api, made["ID"])
    rules = plane(api).rules[made["ID"]]
    ports = {(e.table, e.value) for e in rules.elements if e.set_name == "nodeport-backends"}
    assert ports == {("ip", "10.244.1.5 . 80"), ("ip6", "fd00:10:244:1::5 . 80")}
    (closed,) = [c for c in rules.chains if c.table == "ip6" and c.name.startswith("acl")]
    assert closed.rules == ("drop",)


def test_services_without_a_load_balancer_do_not_wander_out(api: HnsApi) -> None:
    make_network(api)
    routes = [
        {"Type": "SDNRoute", "Settings": {"DestinationPrefix": prefix, "NeedEncap": True}}
        for prefix in ("10.96.0.0/12", "fd00:10:96::/112", "fd00:10:96::/120")
    ]
    made = make_endpoint(api, BOTH, Policies=routes)
    attach(api, made["ID"])
    chains = plane(api).rules[made["ID"]].chains
    drops = {chain.table: chain.rules[0] for chain in chains if chain.name.startswith("encap")}
    assert drops == {
        "ip": 'ip daddr { 10.96.0.0/12 } oifname "eth0" drop',
        "ip6": 'ip6 daddr { fd00:10:96::/112 } oifname "eth0" drop',
    }


def test_what_was_there_is_there_after_a_restart(make_api: Callable[..., HnsApi]) -> None:
    store = MemoryStore()
    first = make_api(NEW, store=store, second_ip=SECOND)
    make_network(first)
    attach(first, make_endpoint(first, BOTH)["ID"])
    again = make_api(NEW, store=store, second_ip=SECOND)
    (port,) = plane(again).ports.values()
    assert port.second == "fd00:10:244:1::5/64"
    with pytest.raises(HnsError):
        make_endpoint(again, BOTH)


def test_only_a_host_of_two_families_has_two_tables() -> None:
    nowhere = Path("/nonexistent")
    one = HnsConfig(nowhere, nowhere, NEW, "172.30.0.11")
    two = HnsConfig(nowhere, nowhere, NEW, "172.30.0.11", second_ip=SECOND)
    old = HnsConfig(nowhere, nowhere, OLD, "172.30.0.11", second_ip=SECOND)
    assert "ip6" not in tables(one)
    assert tables(old) == tables(one)
    assert tables(two).startswith(tables(one))
    assert f"snat to {SECOND}" in tables(two)
