from collections.abc import Callable
from typing import Any

import pytest

from winkube.hns.api import HnsApi
from winkube.hns.errors import Code, HnsError
from winkube.hns.v1_api import V1Api

Json = dict[str, Any]


def settings(**more: Any) -> Json:
    routes = [{"NextHop": "10.1.0.1", "DestinationPrefix": "0.0.0.0/0"}]
    subnets = [{"IpAddressPrefix": "10.1.0.0/24", "Routes": routes}]
    return {"Name": "n", "Type": "L2Bridge", "Ipams": [{"Subnets": subnets}], **more}


def create(api: HnsApi, **more: Any) -> Json:
    made: Json = api.call("Network", "create", {"Settings": settings(**more)})
    return made


def test_a_network_shows_what_the_service_fills_in(api: HnsApi) -> None:
    made = create(api, Type="l2bridge")
    assert made["Type"] == "L2Bridge"
    address = {"ProviderAddress": "172.30.0.11"}
    assert {"Type": "ProviderAddress", "Settings": address} in made["Policies"]
    assert made["MacPool"]["Ranges"][0]["StartMacAddress"].startswith("00-15-5D-")
    assert made["Version"] == 9 << 32 | 5
    assert made["ID"] == made["ID"].upper()
    assert api.call("Network", "query", {"Id": made["ID"].lower()}) == made


def test_the_management_address_may_appear_late(make_api: Callable[..., HnsApi]) -> None:
    made = create(make_api(management_ip_delay=60.0))
    assert made["Policies"] == []


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"Type": "Carrot"}, Code.INVALID_NETWORK_TYPE),
        ({"Type": "Overlay"}, Code.REQUEST_UNSUPPORTED),
        ({"Type": None}, Code.REQUEST_UNSUPPORTED),  # no type is NAT
        ({"Type": 7}, Code.INVALID_NETWORK_TYPE),
        ({"Ipams": [{"Subnets": [{"IpAddressPrefix": "bad"}]}]}, Code.INVALID_PREFIX),
        ({"Ipams": [{"Subnets": "x"}]}, Code.INVALID_NETWORK),
        ({"Ipams": [{"Type": "Dhcp"}]}, Code.REQUEST_UNSUPPORTED),
        ({"Policies": [{"Type": "Nope"}]}, Code.INVALID_POLICY_TYPE),
        ({"Policies": [{"Type": "VxlanPort"}]}, Code.INVALID_POLICY_TYPE),  # too new for 9.5
        (
            {"Policies": [{"Type": "NetAdapterName", "Settings": {"NetworkAdapterName": "Wi-Fi"}}]},
            Code.ADAPTER_NOT_FOUND,
        ),
        ({"Flags": "DisableHostPort"}, Code.INVALID_NETWORK),
    ],
)
def test_bad_networks_are_refused_by_code(api: HnsApi, more: Json, code: Code) -> None:
    with pytest.raises(HnsError) as caught:
        create(api, **more)
    assert caught.value.code == code
    assert api.call("Network", "enumerate", {}) == []


def test_the_same_subnet_twice_is_refused(api: HnsApi) -> None:
    create(api)
    with pytest.raises(HnsError) as caught:
        create(api)
    assert caught.value.code == Code.NETWORK_ALREADY_EXISTS
    with pytest.raises(HnsError) as caught:
        create(api, Name="other")
    assert caught.value.code == Code.INVALID_SUBNET


def test_policies_are_added_and_removed_by_full_settings(api: HnsApi) -> None:
    guid = create(api)["ID"]
    policy = {"Type": "HostRoute", "Settings": {}}

    def change(verb: str) -> Json:
        request = {
            "ResourceType": "Policy",
            "RequestType": verb,
            "Settings": {"Policies": [policy]},
        }
        changed: Json = api.call("Network", "modify", {"Id": guid, "Settings": request})
        return changed

    assert policy in change("Add")["Policies"]
    assert policy not in change("Remove")["Policies"]
    with pytest.raises(HnsError) as caught:
        change("Remove")
    assert caught.value.code == Code.POLICY_NOT_FOUND


def test_deleting_a_network_deletes_its_endpoints(api: HnsApi) -> None:
    guid = create(api)["ID"]
    api.call("Endpoint", "create", {"Settings": {"HostComputeNetwork": guid}})
    api.call("Network", "delete", {"Id": guid})
    assert api.call("Endpoint", "enumerate", {}) == []
    with pytest.raises(HnsError) as caught:
        api.call("Network", "delete", {"Id": guid})
    assert caught.value.code == Code.NETWORK_NOT_FOUND


def test_v1_and_v2_show_one_network(api: HnsApi) -> None:
    v1 = V1Api(api)
    body = {
        "Name": "cbr0",
        "Type": "l2bridge",
        "NetworkAdapterName": "Ethernet",
        "DNSServerList": "10.96.0.10,10.96.0.11",
        "Subnets": [{"AddressPrefix": "10.1.0.0/24", "GatewayAddress": "10.1.0.1"}],
    }
    made = v1.call("POST", "/networks/", body)
    assert made["ManagementIP"] == "172.30.0.11"
    assert made["Subnets"][0]["GatewayAddress"] == "10.1.0.1"
    [document] = api.call("Network", "list", {"Filter": '{"Name": "cbr0"}'})
    assert document["Dns"]["ServerList"] == ["10.96.0.10", "10.96.0.11"]
    assert v1.call("GET", f"/networks/{made['ID'].lower()}", None) == made
    assert v1.call("GET", "/networks/", None) == [made]
    v1.call("DELETE", f"/networks/{made['ID']}", None)
    assert v1.call("GET", "/networks", None) == []


def test_a_v1_document_through_the_v2_call_is_understood(api: HnsApi) -> None:
    body = {
        "Name": "cbr0",
        "Type": "L2Bridge",
        "Subnets": [{"AddressPrefix": "10.1.0.0/24", "GatewayAddress": "10.1.0.1"}],
    }
    made = api.call("Network", "create", {"Settings": body})
    assert made["Ipams"][0]["Subnets"][0]["IpAddressPrefix"] == "10.1.0.0/24"
