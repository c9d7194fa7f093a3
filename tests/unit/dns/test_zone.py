from collections.abc import Sequence

import pytest

from winkube.base.types import JsonObject
from winkube.dns.zone import Found, Type, Zone, cluster_ips, slice_endpoints


class Objects:
    """A Directory over plain values."""

    def __init__(self, **external_names: str) -> None:
        self._names = external_names

    def namespace_exists(self, name: str) -> bool:
        return name == "default"

    def service(self, key: str) -> JsonObject | None:
        namespace, name = key.split("/")
        if namespace != "default" or name not in self._names:
            return None
        spec = {"type": "ExternalName", "externalName": self._names[name]}
        return {"metadata": {"namespace": namespace, "name": name}, "spec": spec}

    def slices(self, key: str) -> Sequence[JsonObject]:
        return []

    def services_at(self, ip: str) -> Sequence[JsonObject]:
        return []

    def slices_at(self, ip: str) -> Sequence[JsonObject]:
        return []


def find(name: str, objects: Objects, type_: Type = Type.A) -> Found:
    return Zone(objects, "cluster.local", "10.96.0.10").find(name.split("."), type_)


def targets(found: Found) -> list[object]:
    return [record.data for record in found.records]


def test_aliases_are_followed_until_they_leave_the_zone() -> None:
    objects = Objects(a="b.default.svc.cluster.local", b="www.example.com.")
    found = find("a.default.svc.cluster.local", objects)
    assert targets(found) == ["b.default.svc.cluster.local", "www.example.com"]
    assert found.leaves_to == "www.example.com"


def test_aliases_in_a_circle_come_to_an_end() -> None:
    objects = Objects(a="b.default.svc.cluster.local", b="a.default.svc.cluster.local")
    found = find("a.default.svc.cluster.local", objects)
    assert found.leaves_to is None
    assert len(found.records) < 20


def test_an_alias_to_nothing_is_still_an_alias() -> None:
    found = find("a.default.svc.cluster.local", Objects(a="gone.default.svc.cluster.local"))
    assert found.exists
    assert targets(found) == ["gone.default.svc.cluster.local"]


@pytest.mark.parametrize("target", [f"{'a' * 64}.example.com", "a." * 127 + "com", ".", "a..b"])
def test_an_alias_that_no_record_can_say_has_none(target: str) -> None:
    found = find("a.default.svc.cluster.local", Objects(a=target))
    assert (found.exists, found.records, found.leaves_to) == (True, [], None)


def test_a_query_for_the_alias_itself_does_not_follow_it() -> None:
    found = find("a.default.svc.cluster.local", Objects(a="www.example.com"), Type.CNAME)
    assert targets(found) == ["www.example.com"]
    assert found.leaves_to is None


@pytest.mark.parametrize(
    "name",
    [
        "nowhere.svc.cluster.local",
        "1-2-3.default.pod.cluster.local",
        "1-2-3-999.default.pod.cluster.local",
        "x.y.default.pod.cluster.local",
        "a.b.c.d.default.svc.cluster.local",
        "other.cluster.local",
    ],
)
def test_names_that_are_not_there(name: str) -> None:
    assert not find(name, Objects(a="x.y")).exists


@pytest.mark.parametrize(
    "name", ["cluster.local", "svc.cluster.local", "default.pod.cluster.local"]
)
def test_names_with_something_below_them_exist(name: str) -> None:
    found = find(name, Objects())
    assert found.exists
    assert found.records == []


def test_only_ready_endpoints_get_records() -> None:
    slice_ = {
        "endpoints": [
            {"addresses": ["10.244.1.2"], "conditions": {"ready": False}},
            {"addresses": ["10.244.1.3"], "conditions": {}, "hostname": "Web-0"},
            {"addresses": ["10.244.1.4"]},
        ]
    }
    assert [(e.ip, e.hostname) for e in slice_endpoints(slice_)] == [
        ("10.244.1.3", "web-0"),
        ("10.244.1.4", "10-244-1-4"),
    ]
    assert list(slice_endpoints({**slice_, "addressType": "IPv6"})) == []


def test_addresses_in_odd_forms_get_no_records() -> None:
    addresses = ["010.0.0.1", "::ffff:10.0.0.2", "10.0.0.3"]
    slice_ = {"addressType": "IPv4", "endpoints": [{"addresses": addresses}]}
    assert [endpoint.ip for endpoint in slice_endpoints(slice_)] == ["10.0.0.3"]
    odd = ["010.96.0.1", "fe80::1%eth0", "None"]
    assert cluster_ips({"spec": {"clusterIPs": odd}}) == []
