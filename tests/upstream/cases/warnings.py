"""What is taken, with a warning: kinds whose warnings are about addresses and names of nodes."""

from typing import Any

from tests.upstream.exchange import MERGE, Case, Step
from tests.upstream.variants import posts

OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
NET, NODE, STORE = "networking.k8s.io/v1", "node.k8s.io/v1", "storage.k8s.io/v1"


def _in(group: str, plural: str) -> str:
    return f"/apis/{group}/namespaces/{{ns}}/{plural}"


def _life(name: str, path: str, body: dict[str, Any], *more: Step) -> Case:
    """Made, changed, and gone again: not every kind warns of all three."""
    called = "{ns}" if "{ns}" not in path else "a"
    metadata = {"name": called, **body.pop("metadata", {})}
    steps = [
        Step("POST", path, {"metadata": metadata, **body}),
        Step("PATCH", f"{path}/{called}", {"metadata": {"labels": {"x": "y"}}}, MERGE),
        *more,
        Step("DELETE", f"{path}/{called}"),
    ]
    return Case(name, steps, managed=False)


def _status(path: str) -> Step:
    ingress = [{"ip": "10.0.0.09"}, {"ip": "FD00::1"}, {"hostname": "h"}]

    status = {"loadBalancer": {"ingress": ingress}}
    return Step("PATCH", f"{path}/a/status", {"status": status}, MERGE)


def _slice(name: str, addresses: list[str], **metadata: Any) -> Case:
    kind = "FQDN" if addresses == ["h.io"] else "IPv4" if addresses[0][0] in "01" else "IPv6"
    body = {"addressType": kind, "endpoints": [{"addresses": [each]} for each in addresses]}
    return _life(name, _in("discovery.k8s.io/v1", "endpointslices"), {**body, "metadata": metadata})


def _address(name: str) -> dict[str, Any]:
    parent = {"resource": "services", "name": "s"}
    return {"metadata": {"name": name}, "spec": {"parentRef": parent}}


def _range(cidr: str) -> dict[str, Any]:
    return {"metadata": {"name": "r"}, "spec": {"cidrs": [cidr]}}


ADDRESSES = ["10.0.77.010", "fd00:0::7", "FD00::7", "::ffff:10.0.77.1", "x", "10.0.77.1"]
RANGES = ["10.77.0.0/016", "010.77.0.0/16", "10.77.0.1/16", "fd00:0::/112", "::ffff:a00:0/112"]
RANGES += ["x", "10.77.0.0/16"]
BLOCKS = [{"ipBlock": {"cidr": "10.0.0.1/8", "except": ["10.1.0.1/16"]}}, {"podSelector": {}}]
BLOCKS.append({"ipBlock": {"cidr": "10.0.0.0/08"}})
INGRESSES = _in(NET, "ingresses")
BACKEND = {"defaultBackend": {"service": {"name": "s", "port": {"number": 1}}}}
NOTED = {"annotations": {"kubernetes.io/ingress.class": "c"}}
CASES = [
    _life("ingress", INGRESSES, {"metadata": NOTED, "spec": BACKEND}, _status(INGRESSES)),
    _life(
        "ingress with both",
        INGRESSES,
        {"metadata": {"name": "a"}, "spec": {**BACKEND, "ingressClassName": "c"}},
    ),
    _life(
        "service",
        "/api/v1/namespaces/{ns}/services",
        {
            "spec": {
                "type": "LoadBalancer",
                "ports": [{"port": 80}],
                "allocateLoadBalancerNodePorts": False,
            }
        },
        _status("/api/v1/namespaces/{ns}/services"),
    ),
    _life(
        "network policy",
        _in(NET, "networkpolicies"),
        {
            "spec": {
                "podSelector": {},
                "ingress": [{}, {"from": BLOCKS}],
                "egress": [{"to": BLOCKS}],
            }
        },
    ),
    _slice("slice", ["10.0.0.1"]),
    _slice("slice of names", ["h.io"]),
    _slice("slice of old addresses", ["010.0.0.1", "::ffff:10.0.0.2"]),
    _slice("slice of long addresses", ["fd00:0::1"]),
    _slice("slice of mapped addresses", ["::ffff:10.0.0.2", "::ffff:010.0.0.2", "fd00::2"]),
    _slice(
        "slice of a controller",
        ["010.0.0.1"],
        labels={"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"},
    ),
    posts("addresses", f"/apis/{NET}/ipaddresses", map(_address, ADDRESSES)),
    posts("ranges", f"/apis/{NET}/servicecidrs", map(_range, RANGES)),
    _life(
        "storage class",
        f"/apis/{STORE}/storageclasses",
        {
            "provisioner": "p",
            "allowedTopologies": [
                {"matchLabelExpressions": [{"key": "a", "values": ["b"]}]},
                {
                    "matchLabelExpressions": [
                        {"key": "b", "values": ["b"]},
                        {"key": OLD_ZONE, "values": ["b"]},
                    ]
                },
            ],
        },
    ),
    _life(
        "storage capacity",
        _in(STORE, "csistoragecapacities"),
        {
            "storageClassName": "c",
            "nodeTopology": {
                "matchLabels": {"beta.kubernetes.io/os": "windows"},
                "matchExpressions": [{"key": OLD_ZONE, "operator": "Exists"}],
            },
        },
    ),
    _life(
        "runtime class",
        f"/apis/{NODE}/runtimeclasses",
        {
            "handler": "h",
            "scheduling": {"nodeSelector": {"beta.kubernetes.io/os": "windows", "a": "b"}},
        },
    ),
]
