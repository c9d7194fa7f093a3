from collections.abc import Callable
from typing import Any

import pytest

from winkube.hns.api import HnsApi
from winkube.hns.errors import Code, HnsError
from winkube.hns.store import MemoryStore
from winkube.hns.v1_api import V1Api
from winkube.testing.fake_dataplane import FakeDataplane

Json = dict[str, Any]


def create(api: HnsApi, network: str, ip: str | None = None, **more: Any) -> Json:
    settings: Json = {"HostComputeNetwork": network, **more}
    if ip:
        settings["IpConfigurations"] = [{"IpAddress": ip}]
    made: Json = api.call("Endpoint", "create", {"Settings": settings})
    return made


def refused(api: HnsApi, network: str, ip: str | None = None, **more: Any) -> int:
    with pytest.raises(HnsError) as caught:
        create(api, network, ip, **more)
    return caught.value.code


def attach(api: HnsApi, endpoint: str, namespace: str, verb: str = "Add") -> None:
    request = {
        "ResourceType": "Endpoint",
        "RequestType": verb,
        "Settings": {"EndpointId": endpoint},
    }
    api.call("Namespace", "modify", {"Id": namespace, "Settings": request})


def test_an_address_and_a_mac_are_assigned(api: HnsApi, network: str) -> None:
    first, second = create(api, network), create(api, network)
    assert first["IpConfigurations"] == [{"IpAddress": "10.244.1.2", "PrefixLength": 24}]
    assert second["IpConfigurations"][0]["IpAddress"] == "10.244.1.3"
    assert first["MacAddress"] != second["MacAddress"]
    assert first["MacAddress"].startswith("00-15-5D-")
    assert first["Routes"][0]["NextHop"] == "10.244.1.1"


def test_addresses_are_checked(api: HnsApi, network: str) -> None:
    create(api, network, "10.244.1.2")
    assert refused(api, network, "10.244.1.2") == Code.OBJECT_ALREADY_EXISTS
    assert refused(api, network, "10.99.1.2") == Code.INVALID_IP
    assert refused(api, network, "banana") == Code.INVALID_IP
    assert refused(api, network, "10.244.1.1") == Code.INVALID_IP


def test_newer_versions_name_reserved_addresses(make_api: Callable[..., HnsApi]) -> None:
    api = make_api((13, 3))
    routes = [{"NextHop": "10.1.0.1", "DestinationPrefix": "0.0.0.0/0"}]
    subnets = [{"IpAddressPrefix": "10.1.0.0/24", "Routes": routes}]
    settings = {"Type": "L2Bridge", "Ipams": [{"Subnets": subnets}]}
    network = api.call("Network", "create", {"Settings": settings})["ID"]
    for last in (0, 1, 255):
        assert refused(api, network, f"10.1.0.{last}") == Code.ADDR_INVALID_OR_RESERVED


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"HostComputeNamespace": "11111111-1111-1111-1111-111111111111"}, Code.INVALID_ENDPOINT),
        ({"MacAddress": "nope"}, Code.INVALID_ENDPOINT),
        ({"Policies": [{"Type": "Magic"}]}, Code.INVALID_POLICY_TYPE),
        ({"Policies": [{"Type": "TierAcl"}]}, Code.INVALID_POLICY_TYPE),
        ({"Policies": [{"Type": "L4Proxy"}]}, Code.REQUEST_UNSUPPORTED),
        ({"Policies": ["x"]}, Code.INVALID_POLICY),
        (
            {"Policies": [{"Type": "OutBoundNAT", "Settings": {"Exceptions": ["x"]}}]},
            Code.INVALID_POLICY,
        ),
        (
            {
                "Policies": [
                    {"Type": "PortMapping", "Settings": {"Protocol": 6, "ExternalPort": 80}}
                ]
            },
            Code.INVALID_INTERNAL_PORT,
        ),
        (
            {"IpConfigurations": [{"IpAddress": "10.244.1.9"}, {"IpAddress": "fd00::9"}]},
            Code.REQUEST_UNSUPPORTED,
        ),
    ],
)
def test_bad_endpoints_are_refused_by_code(
    api: HnsApi, network: str, more: Json, code: Code
) -> None:
    assert refused(api, network, **more) == code
    assert api.call("Endpoint", "enumerate", {}) == []


def test_an_unknown_network_is_named_by_its_code(api: HnsApi) -> None:
    nowhere = "11111111-1111-1111-1111-111111111111"
    assert refused(api, nowhere) == Code.NETWORK_NOT_FOUND
    assert refused(api, "not a guid") == Code.GUID_CONVERSION


def test_attaching_and_detaching(api: HnsApi, network: str) -> None:
    dataplane = api.registry.dataplane
    assert isinstance(dataplane, FakeDataplane)
    endpoint = create(api, network, "10.244.1.5")
    namespace = api.call("Namespace", "create", {})
    assert namespace["AdditionalParams"]["netns"].startswith("/run/netns/wkt-")
    assert namespace["NamespaceId"] == 2
    attach(api, endpoint["ID"], namespace["ID"])
    [port] = dataplane.ports.values()
    assert (port.address, port.mac) == (
        "10.244.1.5/24",
        endpoint["MacAddress"].replace("-", ":").lower(),
    )
    shown = api.call("Endpoint", "query", {"Id": endpoint["ID"]})
    assert shown["HostComputeNamespace"] == namespace["ID"]
    for code in (Code.ENDPOINT_NAMESPACE_ALREADY_EXISTS,):
        with pytest.raises(HnsError) as caught:
            attach(api, endpoint["ID"], namespace["ID"])
        assert caught.value.code == code
    attach(api, endpoint["ID"], namespace["ID"], "Remove")
    assert dataplane.ports == {}
    api.call("Namespace", "delete", {"Id": namespace["ID"]})
    assert dataplane.namespaces == set()


def test_a_remote_endpoint_cannot_be_attached(api: HnsApi, network: str) -> None:
    endpoint = create(api, network, "10.244.2.5", Flags=1)
    namespace = api.call("Namespace", "create", {})
    with pytest.raises(HnsError) as caught:
        attach(api, endpoint["ID"], namespace["ID"])
    assert caught.value.code == Code.INVALID_REMOTE_ENDPOINT_OPERATION


def test_host_attach_twice_says_the_words_flannel_looks_for(api: HnsApi, network: str) -> None:
    v1 = V1Api(api)
    body = {"Name": "cbr0_ep", "VirtualNetwork": network, "IPAddress": "10.244.1.2"}
    endpoint = v1.call("POST", "/endpoints/", body)
    path = f"/endpoints/{endpoint['ID']}/attach"
    attached = v1.call("POST", path, {"SystemType": "Host", "CompartmentId": 1})
    assert (endpoint["State"], attached["State"]) == (1, 2)
    with pytest.raises(HnsError, match="This endpoint is already attached to the switch"):
        v1.call("POST", path, {"SystemType": "Host", "CompartmentId": 1})
    v1.call("POST", f"/endpoints/{endpoint['ID']}/detach", {})
    assert v1.call("GET", f"/endpoints/{endpoint['ID']}", None)["State"] == 1


def test_the_v1_view_flattens_policies(api: HnsApi, network: str) -> None:
    v1 = V1Api(api)
    policies = [
        {"Type": "OutBoundNAT", "ExceptionList": ["10.0.0.0/8"]},
        {"Type": "ROUTE", "DestinationPrefix": "10.96.0.0/12", "NeedEncap": True},
    ]
    body = {
        "VirtualNetworkName": "cbr0",
        "IPAddress": "10.244.1.7",
        "Policies": policies,
        "DNSSuffix": "a,b",
        "DNSServerList": "1.2.3.4",
        "GatewayAddress": "10.244.1.2",
    }
    made = v1.call("POST", "/endpoints/", body)
    assert made["Policies"] == policies
    assert (made["DNSSuffix"], made["DNSServerList"]) == ("a,b", "1.2.3.4")
    document = api.call("Endpoint", "query", {"Id": made["ID"]})
    assert document["Policies"][0] == {
        "Type": "OutBoundNAT",
        "Settings": {"Exceptions": ["10.0.0.0/8"]},
    }
    assert document["Routes"][0]["NextHop"] == "10.244.1.2"
    found = api.call("Endpoint", "list", {"Filter": f'{{"VirtualNetwork": "{network.lower()}"}}'})
    assert found == [document]


def test_policies_change_in_place(api: HnsApi, network: str) -> None:
    endpoint = create(api, network, "10.244.1.5")
    nat = {"Type": "OutBoundNAT", "Settings": {"Exceptions": ["10.0.0.0/8"]}}
    request = {"ResourceType": "Policy", "RequestType": "Add", "Settings": {"Policies": [nat]}}
    changed = api.call("Endpoint", "modify", {"Id": endpoint["ID"], "Settings": request})
    assert changed["Policies"] == [nat]


def test_a_restarted_service_knows_everything(make_api: Callable[..., HnsApi]) -> None:
    store = MemoryStore()
    first = make_api(store=store)
    settings = {"Type": "L2Bridge", "Ipams": [{"Subnets": [{"IpAddressPrefix": "10.1.0.0/24"}]}]}
    network = first.call("Network", "create", {"Settings": settings})["ID"]
    endpoint = create(first, network, "10.1.0.5")
    namespace = first.call("Namespace", "create", {})
    attach(first, endpoint["ID"], namespace["ID"])
    second = make_api(store=store)
    before, after = first.registry.dataplane, second.registry.dataplane
    assert isinstance(before, FakeDataplane)
    assert isinstance(after, FakeDataplane)
    assert (after.ports, after.bridges, after.namespaces, after.rules) == (
        before.ports,
        before.bridges,
        before.namespaces,
        before.rules,
    )
    assert refused(second, network, "10.1.0.5") == Code.OBJECT_ALREADY_EXISTS


def test_statistics_have_the_names_windows_uses(api: HnsApi, network: str) -> None:
    endpoint = create(api, network)
    stats = V1Api(api).call("GET", f"/endpointstats/{endpoint['ID']}", None)
    assert stats["EndpointId"] == endpoint["ID"]
    assert {"BytesReceived", "DroppedPacketsOutgoing", "PacketsSent"} <= set(stats)
