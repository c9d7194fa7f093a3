from typing import Any

import pytest
from tests.unit.proxy.scene import service_port

from winkube.proxy.service import Backend, parse_service_ports
from winkube.proxy.topology import Place
from winkube.proxy.winkernel import (
    Balancer,
    EndpointTable,
    Features,
    Installed,
    balancer_document,
    conjure_mac,
    plan_balancers,
)

ALL = Features(dsr=True, session_affinity=True, modify_balancer=True, dual_stack=True)
LOCAL, REMOTE = Backend("10.244.1.2", 8080, local=True), Backend("10.244.2.2", 8080)


def plan(features: Features = ALL, **changes: Any) -> dict[str, Balancer]:
    values = {
        "node_port": 30080,
        "external_ips": ("192.0.2.1",),
        "ingress_ips": ("192.0.2.2",),
        **changes,
    }
    port = service_port(LOCAL, REMOTE, **values)
    return {b.vip: b for b in plan_balancers(port, features)}


def flags(balancers: dict[str, Balancer]) -> dict[str, tuple[int, int, int]]:
    """vip -> (load balancer flags, port flags, number of backends)."""
    return {vip: (b.flags, b.port_flags, len(b.backends)) for vip, b in balancers.items()}


def test_the_flags_of_each_front_end() -> None:
    assert flags(plan()) == {
        "10.96.0.7": (0, 0, 2),
        "": (0, 18, 2),
        "192.0.2.1": (0, 16, 2),
        "192.0.2.2": (0, 16, 2),
    }


def test_the_local_policy_returns_directly_and_keeps_to_local_backends() -> None:
    assert flags(plan(external_local=True)) == {
        "10.96.0.7": (0, 0, 2),
        "": (1, 18, 1),
        "192.0.2.1": (1, 16, 1),
        "192.0.2.2": (1, 16, 1),
    }
    assert flags(plan(internal_local=True))["10.96.0.7"] == (0, 0, 1)


def test_source_ranges_and_hints_mean_nothing() -> None:
    assert plan(source_ranges=("10.0.0.0/8",)) == plan()
    spec = {"clusterIP": "10.96.0.7", "ports": [{"port": 80}]}
    service = {"metadata": {"namespace": "default", "name": "web"}, "spec": spec}
    endpoint = {"addresses": ["10.244.2.2"], "nodeName": "other"}
    hinted = {**endpoint, "hints": {"forZones": [{"name": "elsewhere"}]}}
    parts = {"metadata": {}, "addressType": "IPv4", "ports": [{"port": 8080}]}
    found, plain = (
        parse_service_ports(service, [{**parts, "endpoints": [each]}], Place("node"))
        for each in (hinted, endpoint)
    )
    assert found == plain
    assert found


def test_the_internal_policy_came_late() -> None:
    found = {
        version: len(
            plan(Features.of_version((13, 3), version), internal_local=True)["10.96.0.7"].backends
        )
        for version in ("v1.26.0", "1.26.1", "1.34.0")
    }
    assert found == {"v1.26.0": 2, "1.26.1": 1, "1.34.0": 1}


def test_all_backends_have_the_port_of_the_last_one() -> None:
    # A load balancer of HNS has one internal port (kubernetes: pkg/proxy/winkernel/proxier.go).
    found = plan(backends=(LOCAL, Backend("10.244.2.2", 9090)))
    assert {balancer.internal_port for balancer in found.values()} == {9090}


def test_without_dsr_the_local_policy_is_not_honoured() -> None:
    assert flags(plan(Features(), external_local=True))[""] == (0, 18, 2)


def test_preserve_destination_uses_the_mux_at_ingress() -> None:
    assert flags(plan(preserve_destination=True)) == {
        "10.96.0.7": (0, 0, 2),
        "": (0, 18, 1),
        "192.0.2.1": (0, 16, 2),
        "192.0.2.2": (1, 28, 1),
    }


def test_affinity_needs_a_recent_hns() -> None:
    assert {b.distribution for b in plan(affinity_seconds=60).values()} == {2}
    assert {b.distribution for b in plan(Features(), affinity_seconds=60).values()} == {0}


def test_front_ends_without_backends_are_left_out() -> None:
    assert list(plan(backends=(REMOTE,), external_local=True)) == ["10.96.0.7"]
    assert plan(backends=()) == {}


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ((9, 2), Features()),
        ((9, 5), Features(dsr=True)),
        ((10, 1), Features()),
        ((13, 2), Features(dsr=True, session_affinity=True, dual_stack=True)),
        ((15, 4), ALL),
    ],
)
def test_features_by_version(version: tuple[int, int], expected: Features) -> None:
    assert Features.of_version(version) == expected


def test_the_remote_endpoint_s_hardware_address_is_made_of_its_ip() -> None:
    assert conjure_mac("10.244.1.5") == "02-11-0a-f4-01-05"
    assert conjure_mac("fd00:10:244:1::abcd:1234") == "02-11-34-12-cd-ab"


def test_two_families_need_a_recent_hns() -> None:
    six = (Backend("fd00:10:244:2::2", 80),)
    other = {"cluster_ip": "fd00:10:96::7", "external_ips": (), "ingress_ips": ()}
    assert plan(Features(), backends=six, **other) == {}
    found = plan(ALL, backends=six, **other)
    assert {vip: b.flags & 2 for vip, b in found.items()} == {"fd00:10:96::7": 2, "": 2}
    # "Every address of the node" is another front end in each family.
    assert found[""].frontend != plan()[""].frontend
    installed = Installed.parse({"ID": "X", **balancer_document(found[""], ["e"])})
    assert installed is not None
    assert installed.is_for(found[""], frozenset({"e"}))


def test_an_installed_balancer_is_recognised_whatever_the_case_of_its_endpoints() -> None:
    balancer = plan()[""]
    document = {"ID": "X", **balancer_document(balancer, ["AB-1", "cd-2"])}
    installed = Installed.parse(document)
    assert installed is not None
    assert installed.is_for(balancer, frozenset({"ab-1", "CD-2"}))
    assert not installed.is_for(balancer, frozenset({"ab-1"}))
    assert not installed.is_for(plan(backends=(LOCAL,))[""], frozenset({"ab-1"}))
    assert Installed.parse({**document, "PortMappings": []}) is None


def test_a_local_endpoint_hides_a_remote_one() -> None:
    documents: list[dict[str, Any]] = [
        {"ID": "r1", "Flags": 1, "IpConfigurations": [{"IpAddress": "10.244.1.2"}]},
        {"ID": "l1", "IpConfigurations": [{"IpAddress": "10.244.1.2"}]},
        {"ID": "r2", "Flags": 1, "IpConfigurations": [{"IpAddress": "10.244.2.2"}]},
        {"ID": "r3", "Flags": 1, "IpConfigurations": [{"IpAddress": "10.244.2.2"}]},
    ]
    table = EndpointTable.parse(documents)
    assert table.find("10.244.1.2") == "l1"
    assert table.find("10.244.2.2") == "r2"
    assert sorted(table.duplicates) == ["r1", "r3"]
    assert table.find("10.244.3.3") is None
