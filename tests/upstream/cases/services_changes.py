"""Changes of services: of their types, addresses, ports and policies."""

from typing import Any

from tests.upstream.cases.services import PATH, local, port_of, service
from tests.upstream.exchange import JSON_PATCH, MERGE, Case, Step


def _changes(name: str, base: dict[str, Any], *patches: Any) -> Case:
    steps = []
    for patch in patches:
        body = patch if isinstance(patch, list) else {"spec": patch}
        media = JSON_PATCH if isinstance(patch, list) else MERGE
        steps += [
            Step("POST", PATH, service(base)),
            Step("PATCH", f"{PATH}/s", body, media),
            Step("DELETE", f"{PATH}/s"),
        ]
    return Case(name, steps, managed=False)


def _set(path: str, value: Any) -> list[dict[str, Any]]:
    return [{"op": "add", "path": path, "value": value}]


CASES = [
    _changes(
        "changes of a service",
        {},
        {"type": "NodePort"},
        {"type": "LoadBalancer"},
        {"type": "ExternalName", "externalName": "a"},
        {"type": "ExternalName", "externalName": "a", "clusterIP": None, "clusterIPs": None},
        {"clusterIP": "10.96.0.78"},
        {"clusterIP": "None"},
        {"clusterIP": ""},
        {"clusterIP": None, "clusterIPs": None},
        {"clusterIPs": ["10.96.0.78"]},
        {"ipFamilies": ["IPv6"]},
        {"ipFamilies": ["IPv4", "IPv6"]},
        {"ipFamilies": None},
        {"ipFamilyPolicy": "PreferDualStack"},
        {"ipFamilyPolicy": "RequireDualStack"},
        {"ipFamilyPolicy": None},
        {"ports": [{"port": 81}]},
        {"ports": []},
        {"selector": {"a": "b"}},
        {"sessionAffinity": "ClientIP"},
        {"externalIPs": ["1.2.3.4"]},
        {"loadBalancerClass": "a/b"},
        {"type": "LoadBalancer", "loadBalancerClass": "a/b"},
        {"internalTrafficPolicy": "Local"},
        {"type": "NodePort", "externalTrafficPolicy": "Local"},
    ),
    _changes(
        "changes of a headless service",
        {"clusterIP": "None", "selector": {"a": "b"}},
        {"clusterIP": "10.96.0.78"},
        {"clusterIP": ""},
        {"type": "NodePort"},
        {"ports": [{"port": 81}]},
    ),
    _changes(
        "changes of a node port",
        {"type": "NodePort", **port_of(nodePort=30080)},
        {"type": "ClusterIP"},
        {"type": "LoadBalancer"},
        {"type": "ExternalName", "externalName": "a"},
        _set("/spec/ports/0/nodePort", 30081),
        _set("/spec/ports/0/nodePort", 0),
        _set("/spec/ports/0/port", 81),
        {"externalTrafficPolicy": "Local"},
        {"externalTrafficPolicy": None},
    ),
    _changes(
        "changes of a load balancer",
        local(loadBalancerClass="a/b", **port_of(nodePort=30080)),
        {"loadBalancerClass": "c/d"},
        {"loadBalancerClass": None},
        {"type": "NodePort"},
        {"type": "NodePort", "loadBalancerClass": None},
        {"type": "ClusterIP", "loadBalancerClass": None},
        {"externalTrafficPolicy": "Cluster"},
        {"healthCheckNodePort": 30081},
        {"healthCheckNodePort": None},
        {"allocateLoadBalancerNodePorts": False},
        {"loadBalancerSourceRanges": ["10.0.0.0/8"]},
    ),
    _changes(
        "changes of a name elsewhere",
        {"type": "ExternalName", "externalName": "a.b", "ports": ...},
        {"externalName": "c"},
        {"externalName": ""},
        {"type": "ClusterIP"},
        {"type": "ClusterIP", "ports": [{"port": 80}]},
        {"type": "ClusterIP", "externalName": None, "ports": [{"port": 80}]},
    ),
]
