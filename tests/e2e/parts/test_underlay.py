import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from winkube.linux import link
from winkube.linux.netns import create_netns, list_netns, netns_exists
from winkube.machines.underlay import (
    NodeSpec,
    UnderlaySpec,
    delete_underlay,
    ensure_pod_routes,
    ensure_underlay,
    host_link,
    netns_name,
    pick_subnet,
)
from winkube.machines.windows_host import ensure_windows_host

pytestmark = pytest.mark.root
FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
CLUSTER, TWIN = "wkt-u", "wkt-u-b"


def ping(netns: str | None, address: str) -> bool:
    prefix = ["ip", "netns", "exec", netns] if netns else []
    command = [*prefix, "ping", "-c1", "-W1", "-n", address]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def make_spec(cluster: str, *nodes: str, outbound: bool = False) -> UnderlaySpec:
    subnet = pick_subnet()
    specs = tuple(NodeSpec(name, str(subnet[11 + i])) for i, name in enumerate(nodes))
    return UnderlaySpec(cluster, subnet, specs, outbound)


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    delete_underlay(CLUSTER)
    delete_underlay(TWIN)
    assert list_netns("wk-wkt-u") == []
    assert not {host_link(CLUSTER), host_link(TWIN)} & set(link.links())


def test_nodes_and_host_reach_each_other_and_a_second_ensure_changes_nothing() -> None:
    spec = make_spec(CLUSTER, "cp", "win-1")
    ensure_underlay(spec)
    before = link.links(netns_name(CLUSTER, "win-1"))["eth0"]["ifindex"]
    ensure_underlay(spec)
    assert link.links(netns_name(CLUSTER, "win-1"))["eth0"]["ifindex"] == before
    assert ping(netns_name(CLUSTER, "cp"), spec.nodes[1].ip)
    assert ping(None, spec.nodes[1].ip)
    assert ping(netns_name(CLUSTER, "win-1"), str(spec.host_ip))


def test_a_removed_piece_is_put_back() -> None:
    spec = make_spec(CLUSTER, "win-1")
    ensure_underlay(spec)
    link.batch([f"link delete {host_link(CLUSTER)}"])
    link.batch(["link delete eth0"], netns=netns_name(CLUSTER, "win-1"))
    ensure_underlay(spec)
    assert ping(None, spec.nodes[0].ip)


def test_clusters_with_like_names_do_not_touch_each_other() -> None:
    ensure_underlay(make_spec(CLUSTER, "win-1"))
    twin = make_spec(TWIN, "win-1")
    ensure_underlay(twin)
    delete_underlay(CLUSTER)
    assert netns_exists(netns_name(TWIN, "win-1"))
    assert ping(None, twin.nodes[0].ip)


def test_namespaces_that_a_killed_start_left_unmarked_go_with_their_cluster() -> None:
    create_netns(netns_name(CLUSTER, "win-1"))
    create_netns(netns_name(CLUSTER, "b-win-1"))  # the twin's node, unmarked as well
    delete_underlay(CLUSTER, ["cp", "win-1"])
    assert not netns_exists(netns_name(CLUSTER, "win-1"))
    assert netns_exists(netns_name(TWIN, "win-1"))
    delete_underlay(TWIN, ["win-1"])


def test_a_node_that_left_the_spec_is_removed() -> None:
    ensure_underlay(make_spec(CLUSTER, "a", "b"))
    ensure_underlay(make_spec(CLUSTER, "a"))
    assert not netns_exists(netns_name(CLUSTER, "b"))


def test_the_router_forwards_to_a_pod_subnet_behind_a_node() -> None:
    spec = make_spec(CLUSTER, "cp", "win-1")
    ensure_underlay(spec)
    link.batch(["address add 10.244.9.1/32 dev lo"], netns=netns_name(CLUSTER, "win-1"))
    ensure_pod_routes(CLUSTER, {"10.244.9.0/24": spec.nodes[1].ip})
    assert ping(netns_name(CLUSTER, "cp"), "10.244.9.1")


def test_a_way_out_does_not_lead_into_another_cluster() -> None:
    one = make_spec(CLUSTER, "a", outbound=True)
    ensure_underlay(one)
    other = make_spec(TWIN, "a", outbound=True)
    ensure_underlay(other)
    assert not ping(netns_name(CLUSTER, "a"), other.nodes[0].ip)
    assert not ping(netns_name(TWIN, "a"), one.nodes[0].ip)
    assert ping(netns_name(CLUSTER, "a"), str(one.host_ip))


def test_outbound_is_undone_by_delete() -> None:
    before = FORWARDING.read_text()
    ensure_underlay(make_spec(CLUSTER, "a", outbound=True))
    listing = json.loads(subprocess.check_output(["nft", "-j", "list", "tables"]))
    assert any(
        item.get("table", {}).get("name") == f"winkube-out-{CLUSTER}"
        for item in listing["nftables"]
    )
    delete_underlay(CLUSTER)
    assert FORWARDING.read_text() == before


def test_a_windows_host_knows_its_uplink_as_ethernet() -> None:
    ensure_underlay(make_spec(CLUSTER, "win-1"))
    for _ in range(2):
        ensure_windows_host(netns_name(CLUSTER, "win-1"))
    rows = link.query("link", "show", "dev", "Ethernet", netns=netns_name(CLUSTER, "win-1"))
    assert rows[0]["ifname"] == "eth0"
