from winkube.proxy.conntrack import Flow, StaleFlows
from winkube.proxy.service import Backend, ServicePort

OLD, NEW = Backend("10.244.1.2", 53), Backend("10.244.2.2", 53)


def dns(*backends: Backend, protocol: str = "UDP") -> dict[str, tuple[ServicePort, ...]]:
    port = ServicePort(
        "kube-system/dns", "", protocol, "10.96.0.10", 53, node_port=30053, backends=backends
    )
    return {"kube-system/dns": (port,)}


def flow(target: str, port: int, answerer: str) -> Flow:
    return Flow("10.244.9.9", 40000, target, port, answerer)


def test_only_udp_ports_that_changed_are_looked_at() -> None:
    assert StaleFlows.plan(dns(OLD), dns(OLD)) is None
    assert StaleFlows.plan(dns(OLD, protocol="TCP"), dns(NEW, protocol="TCP")) is None


def test_flows_to_backends_the_service_lost_are_stale() -> None:
    stale = StaleFlows.plan(dns(OLD), dns(NEW))
    assert stale is not None
    assert stale.has(flow("10.96.0.10", 53, OLD.ip))
    assert not stale.has(flow("10.96.0.10", 53, NEW.ip))
    assert stale.has(flow("172.30.0.11", 30053, OLD.ip))
    assert not stale.has(flow("172.30.0.99", 30053, "172.30.0.99"))
    assert not stale.has(flow("10.96.0.11", 53, OLD.ip))


def test_flows_that_began_before_there_was_a_backend_are_stale() -> None:
    stale = StaleFlows.plan(dns(), dns(NEW))
    assert stale is not None
    assert stale.has(flow("10.96.0.10", 53, "10.96.0.10"))


def test_all_flows_of_a_deleted_service_are_stale() -> None:
    stale = StaleFlows.plan(dns(OLD), {"kube-system/dns": ()})
    assert stale is not None
    assert stale.has(flow("10.96.0.10", 53, OLD.ip))
