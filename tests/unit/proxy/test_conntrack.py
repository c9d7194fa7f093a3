from winkube.linux.conntrack import Pattern
from winkube.proxy.conntrack import plan_stale_flows
from winkube.proxy.service import Backend, ServicePort

OLD, NEW = Backend("10.244.1.2", 53), Backend("10.244.2.2", 53)
FRONT = "10.96.0.10"


def dns(*backends: Backend, protocol: str = "UDP") -> dict[str, tuple[ServicePort, ...]]:
    port = ServicePort(
        "kube-system/dns", "", protocol, FRONT, 53, node_port=30053, backends=backends
    )
    return {"kube-system/dns": (port,)}


def test_only_udp_ports_that_changed_are_looked_at() -> None:
    assert plan_stale_flows(dns(OLD), dns(OLD)) == []
    assert plan_stale_flows(dns(OLD, protocol="TCP"), dns(NEW, protocol="TCP")) == []


def test_flows_to_backends_the_service_lost_are_stale() -> None:
    wanted = [Pattern(53, OLD.ip, target=FRONT), Pattern(30053, OLD.ip)]
    assert plan_stale_flows(dns(OLD), dns(NEW)) == wanted
    assert plan_stale_flows(dns(OLD, NEW), dns(NEW)) == wanted


def test_a_backend_more_makes_nothing_stale() -> None:
    assert plan_stale_flows(dns(OLD), dns(OLD, NEW)) == []


def test_flows_that_began_before_there_was_a_backend_are_stale() -> None:
    assert plan_stale_flows(dns(), dns(NEW)) == [Pattern(53, FRONT, target=FRONT)]
    assert plan_stale_flows({}, dns(NEW)) == [Pattern(53, FRONT, target=FRONT)]


def test_all_flows_of_a_deleted_service_are_stale() -> None:
    wanted = [Pattern(53, OLD.ip, target=FRONT), Pattern(30053, OLD.ip)]
    assert plan_stale_flows(dns(OLD), {"kube-system/dns": ()}) == wanted
