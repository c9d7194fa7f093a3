from typing import Any

import pytest

from winkube.base.types import JsonObject
from winkube.proxy.family import FAMILIES
from winkube.proxy.service import Backend, parse_service_ports, plan_usable, service_of_slice
from winkube.proxy.topology import Place

HERE = Place("lin-1", "z1", heeds_hints=True)


def service(**spec: Any) -> JsonObject:
    return {
        "metadata": {"namespace": "default", "name": "web"},
        "spec": {"clusterIP": "10.96.0.7", "ports": [{"port": 80}], **spec},
    }


def slice_of(*endpoints: JsonObject, **changes: Any) -> JsonObject:
    return {
        "metadata": {"namespace": "default", "labels": {"kubernetes.io/service-name": "web"}},
        "addressType": "IPv4",
        "ports": [{"port": 8080}],
        "endpoints": list(endpoints),
        **changes,
    }


def endpoint(ip: str, node: str = "other", **conditions: bool) -> JsonObject:
    return {"addresses": [ip], "nodeName": node, "conditions": conditions}


def test_a_port_carries_the_service_s_addresses_and_policies() -> None:
    found = parse_service_ports(
        {
            **service(
                ports=[{"name": "http", "port": 80, "nodePort": 30080}],
                externalIPs=["192.0.2.1", "2001:db8::1"],
                externalTrafficPolicy="Local",
                internalTrafficPolicy="Local",
                sessionAffinity="ClientIP",
                healthCheckNodePort=30999,
                loadBalancerSourceRanges=["10.0.0.0/8", "2001:db8::/32", "10.0.0.1 } accept"],
            ),
            "status": {
                "loadBalancer": {
                    "ingress": [
                        {"ip": "192.0.2.2"},
                        {"hostname": "x"},
                        {"ip": "192.0.2.3", "ipMode": "Proxy"},
                    ]
                }
            },
        },
        [],
        HERE,
    )
    (port,) = found
    assert port.identity == "default/web:http/tcp"
    assert (port.node_port, port.health_check_port, port.affinity_seconds) == (30080, 30999, 10800)
    assert (port.external_ips, port.ingress_ips) == (("192.0.2.1",), ("192.0.2.2",))
    assert port.source_ranges == ("10.0.0.0/8",)
    assert port.internal_local
    assert port.external_local


@pytest.mark.parametrize(
    "obj",
    [
        None,
        service(clusterIP="None"),
        service(clusterIP=""),
        service(type="ExternalName"),
        service(clusterIP="fd00::1", clusterIPs=["fd00::1"]),
        {
            **service(),
            "metadata": {
                "name": "web",
                "labels": {"service.kubernetes.io/service-proxy-name": "other"},
            },
        },
    ],
    ids=["absent", "headless", "unallocated", "external name", "ipv6", "other proxy"],
)
def test_some_services_are_not_ours_to_serve(obj: JsonObject | None) -> None:
    assert parse_service_ports(obj, [], HERE) == ()


def test_backends_come_from_the_slices_port_of_the_same_name_and_protocol() -> None:
    both = service(ports=[{"name": "a", "port": 53, "protocol": "UDP"}, {"name": "b", "port": 53}])
    slices = [
        slice_of(
            endpoint("10.244.1.2", "lin-1"),
            ports=[{"name": "a", "port": 5353, "protocol": "UDP"}, {"name": "b", "port": None}],
        ),
        slice_of(endpoint("fd00::2"), addressType="IPv6"),
    ]
    udp, tcp = parse_service_ports(both, slices, HERE)
    assert udp.backends == (Backend("10.244.1.2", 5353, local=True),)
    assert tcp.backends == ()


def test_a_pod_seen_in_two_slices_counts_once_and_as_ready() -> None:
    slices = [
        slice_of(endpoint("10.244.1.2", ready=True)),
        slice_of(endpoint("10.244.1.2", ready=False)),
    ]
    (port,) = parse_service_ports(service(), slices, HERE)
    assert port.backends == (Backend("10.244.1.2", 8080),)


def test_terminating_backends_serve_only_when_no_other_is_left() -> None:
    ready = Backend("10.0.0.1", 80)
    leaving = Backend("10.0.0.2", 80, ready=False, serving=True, terminating=True)
    broken = Backend("10.0.0.3", 80, ready=False, serving=False)
    assert plan_usable([ready, leaving, broken]) == (ready,)
    assert plan_usable([leaving, broken]) == (leaving,)
    assert plan_usable([broken]) == ()


def test_an_unlabelled_slice_belongs_to_no_service() -> None:
    assert service_of_slice({"metadata": {"namespace": "default"}}) is None


def hinted(ip: str, *, nodes: tuple[str, ...] = (), zones: tuple[str, ...] = ()) -> JsonObject:
    hints = {
        "forNodes": [{"name": name} for name in nodes],
        "forZones": [{"name": name} for name in zones],
    }
    return {**endpoint(ip), "hints": hints}


@pytest.mark.parametrize(
    ("endpoints", "chosen"),
    [
        pytest.param(
            (hinted("1.1.1.1", zones=("z1",)), hinted("1.1.1.2", zones=("z2",))),
            {"1.1.1.1"},
            id="the zone's own",
        ),
        pytest.param(
            (
                hinted("1.1.1.1", nodes=("lin-1",), zones=("z1",)),
                hinted("1.1.1.2", nodes=("lin-2",), zones=("z1",)),
            ),
            {"1.1.1.1"},
            id="the node's own before the zone's",
        ),
        pytest.param(
            (
                hinted("1.1.1.1", nodes=("lin-2",), zones=("z1",)),
                hinted("1.1.1.2", nodes=("lin-3",), zones=("z2",)),
            ),
            {"1.1.1.1"},
            id="the zone's when none is for the node",
        ),
        pytest.param(
            (hinted("1.1.1.1", zones=("z1",)), endpoint("1.1.1.2")),
            {"1.1.1.1", "1.1.1.2"},
            id="all when one has no hint",
        ),
        pytest.param(
            (hinted("1.1.1.1", zones=("z2",)), hinted("1.1.1.2", zones=("z3",))),
            {"1.1.1.1", "1.1.1.2"},
            id="all when none is for us",
        ),
        pytest.param(
            (
                hinted("1.1.1.1", zones=("z1",)),
                endpoint("1.1.1.2", ready=False, serving=True, terminating=True),
            ),
            {"1.1.1.1"},
            id="who is not ready needs no hint",
        ),
    ],
)
def test_traffic_stays_near_where_hints_say_so(
    endpoints: tuple[JsonObject, ...], chosen: set[str]
) -> None:
    (port,) = parse_service_ports(service(), [slice_of(*endpoints)], HERE)
    assert {each.ip for each in port.cluster_backends} == chosen
    (port,) = parse_service_ports(service(), [slice_of(*endpoints)], Place("lin-1", "z1"))
    assert len(port.cluster_backends) == sum(each.ready for each in port.backends)


def test_a_policy_of_local_traffic_does_not_look_at_hints() -> None:
    far = {**hinted("1.1.1.1", zones=("z2",)), "nodeName": "lin-1"}
    near = hinted("1.1.1.2", zones=("z1",))
    (port,) = parse_service_ports(
        service(internalTrafficPolicy="Local"), [slice_of(far, near)], HERE
    )
    assert [each.ip for each in port.internal_backends] == ["1.1.1.1"]


def test_a_service_of_two_families_has_each_port_twice() -> None:
    both = service(
        clusterIPs=["10.96.0.7", "fd00:10:96::7"],
        externalIPs=["192.0.2.1", "2001:db8::1"],
        loadBalancerSourceRanges=["192.0.2.0/24", "2001:db8::/32"],
    )
    slices = [
        slice_of(endpoint("10.244.1.2")),
        slice_of(endpoint("fd00:10:244:1::2"), addressType="IPv6"),
    ]
    four, six = parse_service_ports(both, slices, HERE, FAMILIES)
    assert (four.cluster_ip, six.cluster_ip) == ("10.96.0.7", "fd00:10:96::7")
    assert [four.backends[0].ip, six.backends[0].ip] == ["10.244.1.2", "fd00:10:244:1::2"]
    assert (four.external_ips, six.external_ips) == (("192.0.2.1",), ("2001:db8::1",))
    assert (four.source_ranges, six.source_ranges) == (("192.0.2.0/24",), ("2001:db8::/32",))
    assert parse_service_ports(both, slices, HERE) == (four,)


def test_a_service_of_the_other_family_alone_has_no_port_of_this_one() -> None:
    six = service(clusterIP="fd00:10:96::7", clusterIPs=["fd00:10:96::7"])
    assert parse_service_ports(six, [], HERE) == ()
    assert len(parse_service_ports(six, [], HERE, FAMILIES)) == 1
