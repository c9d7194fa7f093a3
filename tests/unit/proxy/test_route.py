from collections.abc import Mapping
from pathlib import Path

from winkube.base.types import JsonObject
from winkube.proxy.family import IPV6
from winkube.proxy.route import RouteTable, plan_route_commands, plan_routes, pod_range


def node(name: str, cidr: str | None, address: str | None) -> JsonObject:
    addresses = [{"type": "Hostname", "address": name}]
    if address:
        addresses.append({"type": "InternalIP", "address": address})
    return {
        "metadata": {"name": name},
        "spec": {"podCIDR": cidr} if cidr else {},
        "status": {"addresses": addresses},
    }


def test_every_other_node_that_is_complete_gets_a_route() -> None:
    nodes = [
        node("lin-1", "10.244.0.0/24", "172.30.0.11"),
        node("win-1", "10.244.1.0/24", "172.30.0.12"),
        node("win-2", None, "172.30.0.13"),
        node("win-3", "10.244.3.0/24", None),
        node("win-4", "not a range", "172.30.0.15"),
    ]
    assert plan_routes(nodes, "lin-1") == {"10.244.1.0/24": "172.30.0.12"}


def test_no_route_leads_to_a_simulated_node() -> None:
    simulated = node("sim-lin-1", "100.64.1.0/24", "198.18.0.1")
    simulated["metadata"]["labels"] = {"node-role.kubernetes.io/simulated": ""}
    assert plan_routes([simulated, node("lin-1", "10.244.0.0/24", "172.30.0.11")], "") == {
        "10.244.0.0/24": "172.30.0.11"
    }


def test_only_differences_become_commands() -> None:
    wanted = {"10.244.1.0/24": "172.30.0.12", "10.244.2.0/24": "172.30.0.13"}
    present = {"10.244.1.0/24": "172.30.0.12", "10.244.2.0/24": "172.30.0.99", "10.244.9.0/24": "x"}
    assert plan_route_commands(wanted, present) == [
        "route del 10.244.9.0/24 proto 174",
        "route replace 10.244.2.0/24 via 172.30.0.13 proto 174",
    ]
    assert plan_route_commands(wanted, wanted) == []


def test_a_dual_stack_node_has_a_range_of_each_family() -> None:
    spec = {"podCIDR": "fd00::/64", "podCIDRs": ["fd00::/64", "10.244.7.0/24"]}
    assert str(pod_range({"spec": spec})) == "10.244.7.0/24"
    assert str(pod_range({"spec": spec}, IPV6)) == "fd00::/64"


def test_routes_of_a_family_lead_over_addresses_of_that_family() -> None:
    other = node("win-1", "10.244.1.0/24", "172.30.0.12")
    other["spec"]["podCIDRs"] = ["10.244.1.0/24", "fd00:10:244:1::/64"]
    assert plan_routes([other], "lin-1", IPV6) == {}
    for address in ("fd00:172:30::12%eth0\nlink delete eth0", "fd00:172:30::12"):
        other["status"]["addresses"].append({"type": "InternalIP", "address": address})
    assert plan_routes([other], "lin-1") == {"10.244.1.0/24": "172.30.0.12"}
    assert plan_routes([other], "lin-1", IPV6) == {"fd00:10:244:1::/64": "fd00:172:30::12"}


def test_a_node_whose_address_is_none_gets_no_route() -> None:
    """It would be a line of an ``ip`` batch, run by root."""
    for address in (
        "172.30.0.12\nnetns exec x touch /y\n#",
        "172.30.0.12 dev eth0",
        "not-an-address",
        "",
        None,
        7,
    ):
        node = {
            "metadata": {"name": "win-1"},
            "spec": {"podCIDR": "10.244.1.0/24"},
            "status": {"addresses": [{"type": "InternalIP", "address": address}]},
        }
        assert plan_routes([node], "lin-1") == {}


async def test_routes_are_asked_for_again_only_after_a_change(tmp_path: Path) -> None:
    shown, asked = tmp_path / "route", list[Mapping[str, str]]()
    shown.write_text("a")
    missing = [True, False]

    async def change(wanted: Mapping[str, str]) -> bool:
        asked.append(wanted)
        return missing.pop(0) if missing else False

    table = RouteTable(shown=shown, change=change)
    one, two = {"10.244.1.0/24": "172.30.0.12"}, {"10.244.2.0/24": "172.30.0.13"}
    for _ in range(4):
        await table.ensure(one)
    assert len(asked) == 2, "once to make them and once to see that they are there"
    shown.write_text("b")  # somebody else's doing, perhaps to ours
    for _ in range(2):
        await table.ensure(one)
    assert len(asked) == 3
    await table.ensure(two)
    assert asked[3:] == [two]
