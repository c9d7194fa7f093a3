import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from winkube.hns.client import HnsClient
from winkube.hns.errors import HnsError, HnsUnavailableError
from winkube.linux import link
from winkube.linux.netns import list_netns, netns_exists
from winkube.testing.hns_host import LOCAL, REMOTE_POD, HnsHost

pytestmark = pytest.mark.root
VIP = "10.96.7.7"
OUTSIDE = "203.0.113.9"  # an address of the world beyond the cluster


@pytest.fixture
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HnsHost]:
    with HnsHost("wkt-hns", tmp_path_factory.mktemp("hns")).up() as host:
        yield host


def test_a_pod_reaches_its_node_its_peers_and_other_nodes_and_is_reached(host: HnsHost) -> None:
    first, second = host.make_pod(3, host.nat_policy()), host.make_pod(4, host.nat_policy())
    assert host.pings(first.netns, host.node_ip)
    assert host.pings(first.netns, second.ip)
    assert host.pings(first.netns, REMOTE_POD)
    assert host.pings(host.node, first.ip)
    assert host.pings(host.outside, second.ip)
    host.serve(second.netns, 80, "second")
    host.serve(host.peer, 80, "remote")
    assert host.ask(first.netns, second.ip, 80) == f"second saw {first.ip}"
    assert host.ask(first.netns, REMOTE_POD, 80) == f"remote saw {first.ip}"
    assert host.ask(host.peer, second.ip, 80).startswith("second saw")


def test_outbound_nat_hides_the_pod_except_toward_exceptions_and_drops_ping(host: HnsHost) -> None:
    pod, bare = host.make_pod(3, host.nat_policy()), host.make_pod(4)
    link.batch([f"address replace {OUTSIDE}/32 dev lo"], netns=host.peer)
    link.batch([f"route replace {OUTSIDE} via {host.peer_ip}"], netns=host.node)
    host.serve(host.peer, 80, "world")
    host.serve(host.peer, 53, "dns", udp=True, bind=OUTSIDE)
    assert host.ask(pod.netns, OUTSIDE, 80) == f"world saw {host.node_ip}"
    assert host.ask(pod.netns, OUTSIDE, 53, udp=True) == f"dns saw {host.node_ip}"
    assert host.ask(bare.netns, OUTSIDE, 80) == f"world saw {bare.ip}"
    assert not host.pings(pod.netns, OUTSIDE)
    assert host.pings(bare.netns, OUTSIDE)


def test_a_cluster_ip_leads_to_local_remote_and_own_pods(host: HnsHost) -> None:
    client, server = host.make_pod(3, host.nat_policy()), host.make_pod(4, host.nat_policy())
    remote = host.make_remote(REMOTE_POD)
    host.serve(server.netns, 80, "local")
    host.serve(host.peer, 80, "remote")
    host.balance([server.endpoint], VIP, 8080)
    host.balance([remote], VIP, 8081)
    host.balance([server.endpoint, remote], VIP, 8082)
    assert host.ask(client.netns, VIP, 8080) == f"local saw {client.ip}"
    assert host.ask(client.netns, VIP, 8081) == f"remote saw {client.ip}"
    assert host.ask(server.netns, VIP, 8080) == f"local saw {host.node_ip}"
    assert host.ask(host.node, VIP, 8080).startswith("local")
    answers = {host.ask(client.netns, VIP, 8082).split()[0] for _ in range(24)}
    assert answers == {"local", "remote"}
    assert not host.pings(client.netns, VIP)


def test_a_dsr_load_balancer_reaches_its_own_pod_only_with_the_loopback_policy(
    host: HnsHost,
) -> None:
    loopback = {"Type": "OutBoundNAT", "Settings": {"Destinations": [f"{LOCAL}.4"]}}
    plain = host.make_pod(3, host.nat_policy())
    looped = host.make_pod(4, host.nat_policy(), loopback)
    host.serve(plain.netns, 80, "plain")
    host.serve(looped.netns, 80, "looped")
    host.balance([plain.endpoint], VIP, 1, Flags=1)
    host.balance([looped.endpoint], VIP, 2, Flags=1)
    assert host.ask(looped.netns, VIP, 1).startswith("plain")
    assert host.ask(plain.netns, VIP, 1) == ""
    assert host.ask(looped.netns, VIP, 2) == f"looped saw {host.node_ip}"


def test_dns_through_a_virtual_address(host: HnsHost) -> None:
    client, server = host.make_pod(3, host.nat_policy()), host.make_pod(4, host.nat_policy())
    host.serve(server.netns, 5353, "dns", udp=True)
    # A query sent before the service exists must not spoil the port it came from.
    assert host.ask(client.netns, VIP, 53, udp=True, bind=4000) == ""
    host.balance([server.endpoint], VIP, 53, Protocol=17, InternalPort=5353)
    assert host.ask(client.netns, VIP, 53, udp=True, bind=4000) == f"dns saw {client.ip}"


def test_a_connection_that_comes_before_its_load_balancer_waits_for_it(host: HnsHost) -> None:
    settings = {"DestinationPrefix": "10.96.0.0/12", "NeedEncap": True}
    route = {"Type": "SDNRoute", "Settings": settings}
    client, server = host.make_pod(3, host.nat_policy(), route), host.make_pod(4)
    host.serve(server.netns, 80, "server")
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(host.ask, client.netns, VIP, 80)
        time.sleep(0.3)
        assert not answer.done()
        host.balance([server.endpoint], VIP, 80)
        assert answer.result() == f"server saw {client.ip}"


def test_a_node_port_answers_outside_the_node_for_local_and_remote_pods(host: HnsHost) -> None:
    server = host.make_pod(4, host.nat_policy())
    remote = host.make_remote(REMOTE_POD)
    host.serve(server.netns, 80, "local")
    host.serve(host.peer, 80, "remote")
    host.balance([server.endpoint], "", 30080)
    balancer = host.balance([remote], "", 30081)
    outside_ip = str(host.subnet[2])
    assert host.ask(host.outside, host.node_ip, 30080) == f"local saw {outside_ip}"
    assert host.ask(host.outside, host.node_ip, 30081) == f"remote saw {host.node_ip}"
    assert host.ask(host.node, host.node_ip, 30080).startswith("local")
    assert host.ask(server.netns, host.node_ip, 30081).startswith("remote")
    host.client.delete("LoadBalancer", balancer)
    assert host.ask(host.outside, host.node_ip, 30081) == ""


def test_a_host_port_and_its_release(host: HnsHost) -> None:
    settings = {"Protocol": 6, "InternalPort": 80, "ExternalPort": 8080, "VIP": ""}
    mapping = {"Type": "PortMapping", "Settings": settings}
    pod = host.make_pod(3, host.nat_policy(), mapping)
    host.serve(pod.netns, 80, "pod")
    assert host.ask(host.outside, host.node_ip, 8080).startswith("pod")
    with pytest.raises(HnsError, match="0x803b0013"):
        host.make_pod(5, mapping)
    host.client.delete("Endpoint", pod.endpoint)
    assert host.ask(host.outside, host.node_ip, 8080) == ""
    host.make_pod(6, mapping)


def test_acl_policies_block_and_allow(host: HnsHost) -> None:
    block = {"Action": "Block", "Direction": "In", "Priority": 200, "Protocols": "6"}
    allow = {"Action": "Allow", "Direction": "In", "Priority": 100, "Protocols": "6"}
    allow |= {"LocalPorts": "80", "RemoteAddresses": f"{LOCAL}.3"}
    rules = [{"Type": "ACL", "Settings": rule} for rule in (block, allow)]
    friend, stranger = host.make_pod(3), host.make_pod(4)
    server = host.make_pod(5, *rules)
    host.serve(server.netns, 80, "server")
    assert host.ask(friend.netns, server.ip, 80).startswith("server")
    assert host.ask(stranger.netns, server.ip, 80) == ""
    assert host.pings(stranger.netns, server.ip)


def test_session_affinity_needs_a_version_that_has_it(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with HnsHost("wkt-hns", tmp_path_factory.mktemp("hns"), version=(13, 3)).up() as host:
        client, servers = host.make_pod(3), [host.make_pod(4), host.make_pod(5)]
        for server in servers:
            host.serve(server.netns, 80, server.ip)
        endpoints = [server.endpoint for server in servers]
        host.balance(endpoints, VIP, 1, DistributionType=2)
        host.balance(endpoints, VIP, 2)
        assert len({host.ask(client.netns, VIP, 1) for _ in range(12)}) == 1
        assert len({host.ask(client.netns, VIP, 2) for _ in range(24)}) == 2


def test_killing_the_service_disturbs_nobody_and_nothing_is_forgotten(host: HnsHost) -> None:
    client, server = host.make_pod(3, host.nat_policy()), host.make_pod(4, host.nat_policy())
    host.serve(server.netns, 80, "server")
    balancer = host.balance([server.endpoint], VIP, 80)
    before = host.client.list("Endpoint")
    cards = link.links(server.netns)["eth0"]["ifindex"]
    host.kill_service()
    assert host.ask(client.netns, VIP, 80) == f"server saw {client.ip}"
    link.batch(["link add v00000000dead type veth"], netns=host.node)
    host.start_service()
    assert host.client.list("Endpoint") == before
    assert link.links(server.netns)["eth0"]["ifindex"] == cards
    assert "v00000000dead" not in link.links(host.node)
    assert host.ask(client.netns, VIP, 80) == f"server saw {client.ip}"
    with pytest.raises(HnsError, match="0x803b0013"):
        host.balance([server.endpoint], VIP, 80)
    host.client.delete("LoadBalancer", balancer)
    assert host.ask(client.netns, VIP, 80) == ""


def test_a_service_killed_again_and_again_under_load_ends_consistent(host: HnsHost) -> None:
    """Clients that retry, as kubelets and proxies do, get everything they asked for."""

    def insist(step: Callable[[HnsClient], Any]) -> Any:
        deadline = time.monotonic() + 30
        while True:
            try:
                with HnsClient(host.folder / "hns.sock") as client:
                    return step(client)
            except HnsUnavailableError:
                assert time.monotonic() < deadline
                time.sleep(0.05)

    def make(number: int) -> str:
        guid = f"{number:08X}-1111-4111-8111-111111111111"
        settings = {"HostComputeNetwork": host.network, "Flags": 1}
        address = {"IpConfigurations": [{"IpAddress": f"10.244.3.{number + 1}"}]}
        insist(
            lambda c: (
                c.list("Endpoint", {"ID": guid})
                or c.create("Endpoint", {**settings, **address}, guid)
            )
        )
        mapping = {"Protocol": 6, "InternalPort": 80, "ExternalPort": 1000 + number}
        balancer = {
            "HostComputeEndpoints": [guid],
            "FrontendVIPs": [VIP],
            "PortMappings": [mapping],
        }
        insist(
            lambda c: (
                c.list("LoadBalancer", {"ID": guid}) or c.create("LoadBalancer", balancer, guid)
            )
        )
        namespace = f"{number:08X}-2222-4222-8222-222222222222"
        insist(
            lambda c: c.list("Namespace", {"ID": namespace}) or c.create("Namespace", {}, namespace)
        )
        return namespace

    with ThreadPoolExecutor(4) as pool:
        jobs = pool.map(make, range(60))
        for _ in range(3):
            time.sleep(0.2)
            host.kill_service()
            host.start_service()
        namespaces = list(jobs)
    assert len(host.client.list("LoadBalancer")) == 60
    listing = host.run(host.node, "nft", "list", "map", "ip", "winkube-hns", "frontends")
    assert listing.count("goto") == 60
    wanted = {f"{host.node}-{guid.replace('-', '')[:12].lower()}" for guid in namespaces}
    assert set(list_netns(f"{host.node}-")) == wanted


def test_deleting_takes_everything_along_and_twice_is_fine(host: HnsHost) -> None:
    pod = host.make_pod(3)
    for _ in range(2):
        host.client.delete("Endpoint", pod.endpoint)
        host.client.delete("Namespace", pod.namespace)
    assert not netns_exists(pod.netns)
    for _ in range(2):
        host.client.delete("Network", host.network)
    kinds = {row.get("linkinfo", {}).get("info_kind") for row in link.links(host.node).values()}
    assert "bridge" not in kinds
    assert host.client.list("Endpoint") == []


def test_many_pods_at_once_get_their_cards_quickly(host: HnsHost) -> None:
    def make(last: int) -> tuple[str, float]:
        with HnsClient(host.folder / "hns.sock") as client:
            namespace = client.create("Namespace", {})
            routes = [{"NextHop": f"{LOCAL}.2", "DestinationPrefix": "0.0.0.0/0"}]
            document = {"HostComputeNetwork": host.network, "Name": f"p{last}", "Routes": routes}
            started = time.monotonic()
            endpoint = client.create("Endpoint", document)
            settings = {"EndpointId": endpoint["ID"]}
            request = {"ResourceType": "Endpoint", "RequestType": "Add", "Settings": settings}
            client.modify("Namespace", namespace["ID"], request)
            return endpoint["IpConfigurations"][0]["IpAddress"], time.monotonic() - started

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(make, range(24)))
    assert len({ip for ip, _ in made}) == 24
    assert all(host.pings(host.node, ip) for ip, _ in made[::8])
