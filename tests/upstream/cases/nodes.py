"""Nodes: what is registered, and what may change."""

from typing import Any

from tests.upstream.exchange import JSON_PATCH, MERGE, Case, Step
from tests.upstream.variants import DRY, merged

PATH = "/api/v1/nodes"
NODE = {"metadata": {"name": "{ns}"}}


def nodes(name: str, *rows: dict[str, Any]) -> Case:
    return Case(
        name, [Step("POST", f"{PATH}{DRY}", merged(NODE, row)) for row in rows], managed=False
    )


def _taints(*taints: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"taints": list(taints)}}


def _changes(name: str, base: dict[str, Any], *patches: Any, part: str = "") -> Case:
    steps = [Step("POST", PATH, merged(NODE, base))]
    for patch in patches:
        media = JSON_PATCH if isinstance(patch, list) else MERGE
        steps.append(Step("PATCH", f"{PATH}/{{ns}}{part}{DRY}", patch, media))
    steps.append(Step("DELETE", f"{PATH}/{{ns}}"))
    return Case(name, steps, managed=False)


CASES = [
    nodes(
        "metadata and spec",
        {},
        {"metadata": {"name": "N_"}},
        {"metadata": {"name": "a" * 254}},
        {"metadata": {"labels": {"beta.kubernetes.io/os": "linux"}}},
        {"metadata": {"annotations": {"node.alpha.kubernetes.io/ttl": "0"}}},
        {"spec": {"unschedulable": True}},
        {"spec": {"unschedulable": False}},
        {"spec": {"providerID": "x://y"}},
        {"spec": {"externalID": "x"}},
        {"spec": {"configSource": {}}},
        {"spec": {"configSource": {"configMap": {"name": "a"}}}},
    ),
    nodes(
        "taints",
        _taints({"key": "a", "effect": "NoSchedule"}),
        _taints({"key": "a", "value": "b", "effect": "NoExecute"}),
        _taints({}),
        _taints({"key": "a b", "effect": "NoSchedule"}),
        _taints({"key": "a", "value": "b c", "effect": "NoSchedule"}),
        _taints({"key": "a", "effect": "Never"}),
        _taints({"key": "a"}),
        _taints({"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}),
        _taints({"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}),
        _taints({"key": "a", "effect": "NoExecute", "timeAdded": "2020-01-01T00:00:00Z"}),
    ),
    nodes(
        "pod ranges",
        {"spec": {"podCIDR": "10.1.0.0/24"}},
        {"spec": {"podCIDRs": ["10.1.0.0/24"]}},
        {"spec": {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"]}},
        {"spec": {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.2.0.0/24"]}},
        {"spec": {"podCIDR": "x"}},
        {"spec": {"podCIDR": "10.1.0.1"}},
        {"spec": {"podCIDRs": ["10.1.0.0/24", "10.2.0.0/24"]}},
        {"spec": {"podCIDRs": ["10.1.0.0/24", "fd00::/64"]}},
        {"spec": {"podCIDRs": ["10.1.0.0/24", "fd00::/64", "fd01::/64"]}},
        {"spec": {"podCIDR": "10.1.0.1/24"}},
        {"spec": {"podCIDR": "010.1.0.0/24"}},
    ),
    nodes(
        "status",
        {"status": {"capacity": {"cpu": "2", "memory": "1Gi", "pods": "110"}}},
        {"status": {"capacity": {"cpu": "-1"}}},
        {"status": {"capacity": {"pods": "1.5"}}},
        {"status": {"capacity": {"a b": "1"}}},
        {"status": {"capacity": {"example.com/x": "500m"}}},
        {"status": {"capacity": {"hugepages-2Mi": "1Gi"}}},
        {"status": {"capacity": {"cpu": "2"}, "allocatable": {"cpu": "1"}}},
        {"status": {"allocatable": {"cpu": "-1"}}},
        {"status": {"addresses": [{"type": "InternalIP", "address": "1.2.3.4"}]}},
        {"status": {"addresses": [{"type": "InternalIP", "address": "1.2.3.4"}] * 2}},
        {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
        {"status": {"nodeInfo": {"osImage": "x"}}},
        {"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}}}},
        {"status": {"phase": "Running"}},
    ),
    _changes(
        "changes of a node",
        {"spec": {"podCIDR": "10.1.0.0/24", "providerID": "x://y"}},
        {"spec": {"unschedulable": True}},
        {"spec": {"podCIDR": "10.2.0.0/24"}},
        {"spec": {"podCIDRs": ["10.2.0.0/24"]}},
        {"spec": {"podCIDR": None}},
        {"spec": {"podCIDR": None, "podCIDRs": None}},
        {"spec": {"providerID": "z"}},
        {"spec": {"providerID": None}},
        {"spec": {"externalID": "z"}},
        {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}},
        {"spec": {"taints": [{"key": "a", "effect": "Bad"}]}},
        {"metadata": {"labels": {"a": "b"}}},
        {"metadata": {"labels": {"a b": "b"}}},
        {"metadata": {"annotations": {"a": "b"}}},
        {"status": {"phase": "Running"}},
    ),
    _changes(
        "changes of a node without ranges",
        {},
        {"spec": {"podCIDR": "10.2.0.0/24"}},
        {"spec": {"podCIDRs": ["10.2.0.0/24"]}},
        {"spec": {"podCIDR": "x"}},
        {"spec": {"providerID": "z"}},
    ),
    _changes(
        "changes of a node's status",
        {},
        {"status": {"capacity": {"cpu": "2", "memory": "1Gi"}}},
        {"status": {"capacity": {"cpu": "-2"}}},
        {"status": {"capacity": {"cpu": "2"}, "allocatable": {"cpu": "1"}}},
        {"status": {"addresses": [{"type": "InternalIP", "address": "1.2.3.4"}]}},
        {"status": {"addresses": [{"type": "InternalIP", "address": "1.2.3.4"}] * 2}},
        {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
        {"status": {"images": [{"names": ["a"], "sizeBytes": 5}]}},
        {"status": {"nodeInfo": {"kubeletVersion": "v1"}}},
        {"status": {"volumesInUse": ["a"]}},
        {"status": {"volumesAttached": [{"name": "a", "devicePath": "b"}]}},
        {"status": {"config": {}}},
        {"spec": {"unschedulable": True}},
        {"metadata": {"labels": {"a": "b"}}},
        part="/status",
    ),
]
