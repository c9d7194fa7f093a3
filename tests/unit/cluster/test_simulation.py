"""Simulated nodes of a cluster: names, addresses and ranges that stay when their number changes."""

import ipaddress

import pytest

from winkube.api.simulation import is_simulated
from winkube.base.types import JsonObject
from winkube.cluster.errors import SpecError
from winkube.cluster.simulation import MAX_NODES, Simulation, node_specs, plan_simulation
from winkube.cluster.spec import ClusterSpec
from winkube.kubelet.simulated.node import NODE_NETWORK, SimulatedNode


def registered(simulation: Simulation) -> dict[str, JsonObject]:
    nodes = [SimulatedNode(spec, place) for place, spec in enumerate(node_specs(simulation, "v1"))]
    return {node.name: node.registration(0.0) for node in nodes}


def address(node: JsonObject) -> str:
    return str(node["status"]["addresses"][0]["address"])


def test_some_of_the_nodes_run_windows() -> None:
    nodes = registered(plan_simulation(3, 1, "ltsc2022"))
    systems = {name: node["metadata"]["labels"]["kubernetes.io/os"] for name, node in nodes.items()}
    assert systems == {"sim-lin-1": "linux", "sim-lin-2": "linux", "sim-win-1": "windows"}
    assert all(is_simulated(node) for node in nodes.values())
    assert all(node["spec"]["taints"][0]["effect"] == "NoSchedule" for node in nodes.values())


def test_a_node_keeps_its_address_and_range_when_others_come() -> None:
    few, many = registered(Simulation(1, 2)), registered(Simulation(100, 50))
    for name, node in few.items():
        assert address(many[name]) == address(node)
        assert many[name]["spec"]["podCIDR"] == node["spec"]["podCIDR"]


def test_ranges_and_addresses_are_nobody_elses() -> None:
    nodes = registered(Simulation(MAX_NODES, MAX_NODES)).values()
    ranges = {ipaddress.IPv4Network(node["spec"]["podCIDR"]) for node in nodes}
    assert len(ranges) == len({address(node) for node in nodes}) == 2 * MAX_NODES
    spec = ClusterSpec()
    for taken in (spec.pod_subnet, spec.service_subnet):
        assert not any(each.overlaps(ipaddress.IPv4Network(taken)) for each in ranges)
    assert all(ipaddress.IPv4Address(address(node)) in NODE_NETWORK for node in nodes)


@pytest.mark.parametrize(
    ("count", "windows", "field"),
    [
        (-1, 0, "--simulated:"),
        (MAX_NODES + 1, 0, "--simulated:"),
        (3, 4, "--simulated-windows:"),
        (3, -1, "--simulated-windows:"),
    ],
)
def test_an_impossible_number_is_refused(count: int, windows: int, field: str) -> None:
    with pytest.raises(SpecError, match=field):
        plan_simulation(count, windows, "ltsc2019")
