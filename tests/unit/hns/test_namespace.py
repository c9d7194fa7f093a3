from collections.abc import Callable

import pytest

from winkube.hns.api import HnsApi
from winkube.hns.errors import Code, HnsError
from winkube.hns.store import MemoryStore
from winkube.hns.v1_api import V1Api


def test_the_host_has_a_namespace_that_stays(api: HnsApi) -> None:
    [host] = api.call("Namespace", "list", {})
    assert (host["Type"], host["NamespaceId"]) == ("HostDefault", 1)
    with pytest.raises(HnsError):
        api.call("Namespace", "delete", {"Id": host["ID"]})


def test_compartment_numbers_are_reused(api: HnsApi) -> None:
    first, second = (api.call("Namespace", "create", {}) for _ in range(2))
    assert (first["NamespaceId"], second["NamespaceId"]) == (2, 3)
    api.call("Namespace", "delete", {"Id": first["ID"]})
    assert api.call("Namespace", "create", {})["NamespaceId"] == 2


def test_an_absent_namespace_is_element_not_found(api: HnsApi) -> None:
    with pytest.raises(HnsError, match="Element not found") as caught:
        V1Api(api).call("GET", "/namespaces/11111111-1111-1111-1111-111111111111", None)
    assert caught.value.code == Code.ELEMENT_NOT_FOUND


def test_v1_adds_and_removes_resources(api: HnsApi, network: str) -> None:
    v1 = V1Api(api)
    namespace = v1.call("POST", "/namespaces/", {})
    endpoint = v1.call("POST", "/endpoints/", {"VirtualNetwork": network})
    body = {"Type": "Endpoint", "Data": {"Id": endpoint["ID"]}}
    added = v1.call("POST", f"/namespaces/{namespace['ID']}/addresource", body)
    assert added["ResourceList"] == [body]
    assert v1.call("GET", f"/endpoints/{endpoint['ID']}", None)["Namespace"] == {
        "ID": namespace["ID"]
    }
    removed = v1.call("POST", f"/namespaces/{namespace['ID']}/removeresource", body)
    assert removed["ResourceList"] == []


def test_a_deleted_endpoint_leaves_its_namespace(api: HnsApi, network: str) -> None:
    v1 = V1Api(api)
    namespace = v1.call("POST", "/namespaces/", {})
    endpoint = v1.call("POST", "/endpoints/", {"VirtualNetwork": network})
    body = {"Type": "Endpoint", "Data": {"Id": endpoint["ID"]}}
    v1.call("POST", f"/namespaces/{namespace['ID']}/addresource", body)
    v1.call("DELETE", f"/endpoints/{endpoint['ID']}", None)
    assert v1.call("GET", f"/namespaces/{namespace['ID']}", None)["ResourceList"] == []


def test_a_half_recorded_attachment_is_completed_at_start(
    make_api: Callable[..., HnsApi],
) -> None:
    store = MemoryStore()
    first = make_api(store=store)
    settings = {"Type": "L2Bridge", "Ipams": [{"Subnets": [{"IpAddressPrefix": "10.1.0.0/24"}]}]}
    network = first.call("Network", "create", {"Settings": settings})["ID"]
    namespace = first.call("Namespace", "create", {})
    endpoint = first.call("Endpoint", "create", {"Settings": {"HostComputeNetwork": network}})
    # What a service killed between the two documents leaves behind.
    first.endpoints.attach_to_namespace(endpoint["ID"], namespace["ID"], "wkt-x")
    second = make_api(store=store)
    shown = second.call("Namespace", "query", {"Id": namespace["ID"]})
    assert shown["Resources"] == [{"Type": "Endpoint", "Data": {"Id": endpoint["ID"]}}]


def test_version_is_told_from_1803_on(api: HnsApi) -> None:
    assert V1Api(api).call("GET", "/globals/version", None) == {"Major": 9, "Minor": 5}
