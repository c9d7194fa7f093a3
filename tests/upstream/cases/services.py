"""Services: types, ports, addresses, families, policies."""

from typing import Any

from tests.upstream.exchange import MERGE, Case, Step
from tests.upstream.variants import merged

PATH = "/api/v1/namespaces/{ns}/services"
DRY = "?dryRun=All"
BASE = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}


def service(row: dict[str, Any]) -> Any:
    return merged(BASE, {"spec": row})


def services(name: str, *rows: dict[str, Any]) -> Case:
    """Each is made and deleted again: a rehearsal takes no addresses."""
    steps = []
    for row in rows:
        steps += [Step("POST", PATH, service(row)), Step("DELETE", f"{PATH}/s")]
    return Case(name, steps, managed=False)


def port_of(**port: Any) -> dict[str, Any]:
    return {"ports": [{"port": 80, **port}]}


def local(**row: Any) -> dict[str, Any]:
    return {"type": "LoadBalancer", "externalTrafficPolicy": "Local", **row}


TWO = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]
CASES = [
    Case(
        "names",
        [
            Step("POST", f"{PATH}{DRY}", merged(BASE, {"metadata": {"name": name}}))
            for name in ("S", "1s", "a.b", "a" * 64, "", "a-1")
        ],
        managed=False,
    ),
    services(
        "types",
        {},
        {"type": "ClusterIP"},
        {"type": "NodePort"},
        {"type": "LoadBalancer"},
        {"type": "Strange"},
        {"type": ""},
        {"type": "ExternalName"},
        {"type": "ExternalName", "externalName": "a.b"},
        {"type": "ExternalName", "externalName": "A_b"},
        {"type": "ExternalName", "externalName": "a.b."},
        {"type": "ExternalName", "externalName": "a", "ports": ...},
        {"type": "ExternalName", "externalName": "a", "clusterIP": "None"},
        {"type": "ExternalName", "externalName": "a", "clusterIP": "10.96.0.77"},
        {"type": "ExternalName", "externalName": "a", "ipFamilies": ["IPv4"]},
        {"type": "ExternalName", "externalName": "a", "ipFamilyPolicy": "SingleStack"},
        {"externalName": "a.b"},
        {"type": "LoadBalancer", "clusterIP": "None"},
        {"type": "NodePort", "clusterIP": "None"},
    ),
    services(
        "ports",
        {"ports": []},
        {"ports": ...},
        {"ports": ..., "clusterIP": "None"},
        {"ports": [{}]},
        port_of(port=0),
        port_of(port=65536),
        port_of(port=-1),
        port_of(name="A_"),
        port_of(name="a" * 64),
        port_of(protocol="ICMP"),
        port_of(protocol="SCTP"),
        port_of(protocol="tcp"),
        port_of(targetPort=0),
        port_of(targetPort=65536),
        port_of(targetPort=8080),
        port_of(targetPort="web"),
        port_of(targetPort=""),
        port_of(targetPort="A_b"),
        port_of(targetPort="a" * 16),
        port_of(appProtocol="http"),
        port_of(appProtocol="a b"),
        port_of(appProtocol="kubernetes.io/h2c"),
        port_of(nodePort=30080),
        {"ports": [{"port": 80}, {"port": 81}]},
        {"ports": [{"name": "a", "port": 80}, {"name": "a", "port": 81}]},
        {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 80}]},
        {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 80, "protocol": "UDP"}]},
        {"ports": TWO},
        {"clusterIP": "None", "ports": [{"port": 80, "targetPort": 81}]},
        {"clusterIP": "None", "ports": [{"port": 80, "targetPort": "x"}]},
    ),
    services(
        "node ports",
        {"type": "NodePort", **port_of(nodePort=30080)},
        {"type": "NodePort", **port_of(nodePort=80)},
        {"type": "NodePort", **port_of(nodePort=40000)},
        {"type": "NodePort", **port_of(nodePort=-1)},
        {"type": "NodePort", "ports": [{**port, "nodePort": 30080} for port in TWO]},
        {
            "type": "NodePort",
            "ports": [
                {"name": "a", "port": 80, "nodePort": 30080},
                {"name": "b", "port": 80, "nodePort": 30080, "protocol": "UDP"},
            ],
        },
        {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False},
        {
            "type": "LoadBalancer",
            "allocateLoadBalancerNodePorts": False,
            **port_of(nodePort=30080),
        },
        {"allocateLoadBalancerNodePorts": False},
        {"type": "NodePort", "allocateLoadBalancerNodePorts": True},
    ),
    services(
        "cluster addresses",
        {"clusterIP": "None"},
        {"clusterIP": ""},
        {"clusterIP": "10.96.0.77"},
        {"clusterIP": "10.96.0.1"},
        {"clusterIP": "10.95.0.1"},
        {"clusterIP": "10.96.0.0"},
        {"clusterIP": "x"},
        {"clusterIP": "010.96.0.77"},
        {"clusterIP": "fd00::1"},
        {"clusterIPs": ["10.96.0.77"]},
        {"clusterIP": "10.96.0.77", "clusterIPs": ["10.96.0.77"]},
        {"clusterIP": "10.96.0.77", "clusterIPs": ["10.96.0.78"]},
        {"clusterIP": "None", "clusterIPs": ["None"]},
        {"clusterIPs": ["None"]},
        {"clusterIP": "10.96.0.77", "clusterIPs": ["10.96.0.77", "10.96.0.78"]},
        {"clusterIP": "10.96.0.77", "clusterIPs": ["10.96.0.77", "None"]},
        {"clusterIP": "10.96.0.77", "clusterIPs": ["10.96.0.77", "fd00::1"]},
        {"clusterIP": "10.96.0.77", "clusterIPs": ["10.96.0.77", "x"]},
        {
            "clusterIP": "10.96.0.77",
            "clusterIPs": ["10.96.0.77", "10.96.0.78", "10.96.0.79"],
        },
    ),
    services(
        "families",
        {"ipFamilies": ["IPv4"]},
        {"ipFamilies": ["IPv6"]},
        {"ipFamilies": ["IPv5"]},
        {"ipFamilies": ["IPv4", "IPv4"]},
        {"ipFamilies": ["IPv4", "IPv6"]},
        {"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "SingleStack"},
        {"ipFamilies": ["IPv4", "IPv6", "IPv4"]},
        {"ipFamilyPolicy": "SingleStack"},
        {"ipFamilyPolicy": "PreferDualStack"},
        {"ipFamilyPolicy": "RequireDualStack"},
        {"ipFamilyPolicy": "Strange"},
        {"ipFamilyPolicy": ""},
        {"clusterIP": "None", "ipFamilies": ["IPv6"]},
        {"clusterIP": "None", "ipFamilyPolicy": "PreferDualStack"},
        {"clusterIP": "None", "ipFamilyPolicy": "RequireDualStack"},
        {"clusterIP": "None", "ipFamilyPolicy": "RequireDualStack", "selector": {"a": "b"}},
        {"clusterIP": "None", "selector": {"a": "b"}},
        {"clusterIP": "10.96.0.77", "ipFamilies": ["IPv6"]},
    ),
    services(
        "affinity",
        {"sessionAffinity": "None"},
        {"sessionAffinity": "ClientIP"},
        {"sessionAffinity": "Cookie"},
        {"sessionAffinity": ""},
        {
            "sessionAffinity": "ClientIP",
            "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}},
        },
        {
            "sessionAffinity": "ClientIP",
            "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}},
        },
        {
            "sessionAffinity": "ClientIP",
            "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}},
        },
        {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {}},
        {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}}},
    ),
    services(
        "selectors and outside addresses",
        {"selector": {"a": "b"}},
        {"selector": {"a b": "c"}},
        {"selector": {"a": "b c"}},
        {"externalIPs": ["1.2.3.4"]},
        {"externalIPs": ["x"]},
        {"externalIPs": ["127.0.0.1"]},
        {"externalIPs": ["0.0.0.0"]},
        {"externalIPs": ["169.254.1.1"]},
        {"externalIPs": ["224.0.0.1"]},
        {"externalIPs": ["001.2.3.4"]},
        {"externalIPs": ["1.2.3.4"], "externalTrafficPolicy": "Local"},
        {"loadBalancerIP": "1.2.3.4"},
        {"type": "LoadBalancer", "loadBalancerIP": "1.2.3.4"},
        {"type": "LoadBalancer", "loadBalancerIP": "x"},
        {"publishNotReadyAddresses": True},
    ),
    services(
        "load balancers",
        {"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0/8"]},
        {"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0"]},
        {"type": "LoadBalancer", "loadBalancerSourceRanges": [" 10.0.0.0/8 "]},
        {"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.1/8"]},
        {"type": "LoadBalancer", "loadBalancerSourceRanges": ["010.0.0.0/8"]},
        {"type": "LoadBalancer", "loadBalancerSourceRanges": ["x"]},
        {"loadBalancerSourceRanges": ["10.0.0.0/8"]},
        {"type": "LoadBalancer", "loadBalancerClass": "a/b"},
        {"type": "LoadBalancer", "loadBalancerClass": "a b"},
        {"type": "LoadBalancer", "loadBalancerClass": ""},
        {"loadBalancerClass": "a/b"},
    ),
    services(
        "traffic",
        {"externalTrafficPolicy": "Local"},
        {"externalTrafficPolicy": "Cluster"},
        {"type": "NodePort", "externalTrafficPolicy": "Local"},
        {"type": "NodePort", "externalTrafficPolicy": "Strange"},
        {"type": "NodePort", "externalTrafficPolicy": ""},
        local(),
        local(healthCheckNodePort=30080),
        local(healthCheckNodePort=80),
        local(healthCheckNodePort=-1),
        {"type": "NodePort", "healthCheckNodePort": 30080},
        {"healthCheckNodePort": 30080},
        {"type": "LoadBalancer", "healthCheckNodePort": 30080},
        {"internalTrafficPolicy": "Local"},
        {"internalTrafficPolicy": "Strange"},
        {"internalTrafficPolicy": ""},
        {"type": "ExternalName", "externalName": "a", "internalTrafficPolicy": "Local"},
        {"trafficDistribution": "PreferClose"},
        {"trafficDistribution": "PreferSameZone"},
        {"trafficDistribution": "PreferSameNode"},
        {"trafficDistribution": "Strange"},
        {"trafficDistribution": ""},
    ),
    Case(
        "addresses and ports that are taken",
        [
            Step("POST", PATH, service({"type": "NodePort", **port_of(nodePort=30080)})),
            Step(
                "POST",
                PATH,
                merged(
                    service({"type": "NodePort", **port_of(nodePort=30080)}),
                    {"metadata": {"name": "t"}},
                ),
            ),
            Step(
                "POST",
                PATH,
                merged(service({"clusterIP": "10.96.0.1"}), {"metadata": {"name": "t"}}),
            ),
            Step("POST", PATH, service({})),
            Step("DELETE", f"{PATH}/s"),
            Step(
                "POST",
                PATH,
                merged(
                    service({"type": "NodePort", **port_of(nodePort=30080)}),
                    {"metadata": {"name": "t"}},
                ),
            ),
            Step("DELETE", f"{PATH}/t"),
            Step("DELETE", f"{PATH}/t"),
        ],
        watch=[PATH],
        managed=False,
    ),
    Case(
        "rehearsals take nothing",
        [
            Step("POST", f"{PATH}{DRY}", service(row))
            for row in (
                {},
                {"clusterIP": "10.96.0.1"},
                {"clusterIP": "10.95.0.1"},
                {"type": "NodePort", **port_of(nodePort=80)},
                {"type": "NodePort", "ports": [{**port, "nodePort": 30080} for port in TWO]},
                local(),
                local(healthCheckNodePort=80),
            )
        ],
        managed=False,
    ),
    Case(
        "status",
        [
            Step("POST", PATH, service({"type": "LoadBalancer"})),
            *(
                Step("PATCH", f"{PATH}/s/status{DRY}", {"status": status}, MERGE)
                for status in (
                    {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}},
                    {"loadBalancer": {"ingress": [{"ip": "x"}]}},
                    {"loadBalancer": {"ingress": [{"hostname": "a.b"}]}},
                    {"loadBalancer": {"ingress": [{"hostname": "A_"}]}},
                    {"loadBalancer": {"ingress": [{"hostname": "1.2.3.4"}]}},
                    {"loadBalancer": {"ingress": [{"ip": "1.2.3.4", "ipMode": "Proxy"}]}},
                    {"loadBalancer": {"ingress": [{"ip": "1.2.3.4", "ipMode": "Strange"}]}},
                    {"loadBalancer": {"ingress": [{"hostname": "a", "ipMode": "VIP"}]}},
                    {"conditions": [{"type": "a", "status": "True"}]},
                )
            ),
            Step("PATCH", f"{PATH}/s/status{DRY}", {"spec": {"type": "ClusterIP"}}, MERGE),
        ],
        managed=False,
    ),
    Case(
        "status of a service without a balancer",
        [
            Step("POST", PATH, service({})),
            Step(
                "PATCH",
                f"{PATH}/s/status{DRY}",
                {"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}},
                MERGE,
            ),
        ],
        managed=False,
    ),
    Case(
        "a rehearsal and ports somebody has",
        [
            Step("POST", PATH, service({"type": "NodePort", **port_of(nodePort=30871)})),
            *(
                Step("POST", f"{PATH}{DRY}", merged(service(row), {"metadata": {"name": "t"}}))
                for row in (
                    {"type": "NodePort", **port_of(nodePort=30871)},
                    {"type": "NodePort", **port_of(nodePort=30872)},
                    local(healthCheckNodePort=30871),
                    {
                        "type": "NodePort",
                        "ports": [{**port, "nodePort": 30872} for port in TWO],
                    },
                )
            ),
            Step("DELETE", f"{PATH}/s"),
        ],
        managed=False,
    ),
]
