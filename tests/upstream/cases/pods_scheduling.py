"""Where a pod may run."""

from typing import Any

from tests.upstream.variants import pods

NODE_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _required(**term: Any) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": {NODE_REQUIRED: {"nodeSelectorTerms": [term]}}}}


def _expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def _preferred(**term: Any) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": {PREFERRED: [term]}}}


def _near(**term: Any) -> dict[str, Any]:
    return {"affinity": {"podAffinity": {NODE_REQUIRED: [term]}}}


def _apart(**term: Any) -> dict[str, Any]:
    return {"affinity": {"podAntiAffinity": {PREFERRED: [term]}}}


def _tolerates(**toleration: Any) -> dict[str, Any]:
    return {"tolerations": [toleration]}


def _spread(**constraint: Any) -> dict[str, Any]:
    base = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**base, **constraint}]}


SELECTOR = {"matchLabels": {"a": "b"}}
CASES = [
    pods(
        "node selectors",
        {"nodeSelector": {"a": "b"}},
        {"nodeSelector": {"a b": "c"}},
        {"nodeSelector": {"a": "b c"}},
        {"nodeSelector": {"": ""}},
        {"nodeSelector": {"beta.kubernetes.io/os": "linux"}},
        {"nodeSelector": {"failure-domain.beta.kubernetes.io/zone": "a"}},
        {"nodeName": "n"},
        {"nodeName": "N_"},
        {"schedulerName": ""},
        {"schedulerName": "S_"},
    ),
    pods(
        "node affinity",
        {"affinity": {}},
        {"affinity": {"nodeAffinity": {}}},
        {"affinity": {"nodeAffinity": {NODE_REQUIRED: {}}}},
        {"affinity": {"nodeAffinity": {NODE_REQUIRED: {"nodeSelectorTerms": []}}}},
        _required(),
        _required(matchExpressions=[_expression("a", "In", "b")]),
        _required(matchExpressions=[_expression("a", "In")]),
        _required(matchExpressions=[_expression("a", "NotIn")]),
        _required(matchExpressions=[_expression("a", "Exists", "b")]),
        _required(matchExpressions=[_expression("a", "DoesNotExist", "b")]),
        _required(matchExpressions=[_expression("a", "Gt", "b")]),
        _required(matchExpressions=[_expression("a", "Gt", "1")]),
        _required(matchExpressions=[_expression("a", "Lt", "1", "2")]),
        _required(matchExpressions=[_expression("a", "Lt")]),
        _required(matchExpressions=[_expression("a", "Is", "b")]),
        _required(matchExpressions=[_expression("a b", "In", "b c")]),
        _required(matchExpressions=[_expression("", "In", "b")]),
        _required(matchExpressions=[_expression("beta.kubernetes.io/arch", "In", "b")]),
        _required(matchExpressions=[_expression("a", "In", "x y", "b" * 64)]),
        _required(matchFields=[_expression("metadata.name", "In", "n")]),
        _required(matchFields=[_expression("metadata.name", "In", "n", "m")]),
        _required(matchFields=[_expression("metadata.name", "In", "N_")]),
        _required(matchFields=[_expression("metadata.name", "Exists")]),
        _required(matchFields=[_expression("spec.x", "In", "n")]),
        _preferred(weight=1, preference={}),
        _preferred(weight=0, preference={}),
        _preferred(weight=101, preference={"matchExpressions": [_expression("a", "Is")]}),
        _preferred(weight=1),
        _preferred(weight=1, preference={"matchFields": [_expression("x", "In")]}),
        _preferred(
            weight=1,
            preference={"matchExpressions": [_expression("beta.kubernetes.io/os", "In", "l")]},
        ),
    ),
    pods(
        "pod affinity",
        _near(topologyKey="zone"),
        _near(topologyKey="zone", labelSelector=SELECTOR),
        _near(labelSelector=SELECTOR),
        _near(topologyKey="a b"),
        _near(topologyKey="zone", labelSelector={"matchLabels": {"a b": "c"}}),
        _near(topologyKey="zone", labelSelector={"matchLabels": {"a": "b c"}}),
        _near(topologyKey="zone", labelSelector={"matchExpressions": [_expression("a", "In")]}),
        _near(
            topologyKey="zone", labelSelector={"matchExpressions": [_expression("a", "Is", "b")]}
        ),
        _near(topologyKey="zone", namespaces=["N_"]),
        _near(topologyKey="zone", namespaceSelector={"matchLabels": {"a b": "c"}}),
        _near(topologyKey="zone", namespaceSelector={}),
        _near(topologyKey="zone", matchLabelKeys=["a"]),
        _near(topologyKey="zone", labelSelector=SELECTOR, matchLabelKeys=["c"]),
        _near(topologyKey="zone", labelSelector=SELECTOR, matchLabelKeys=["a"]),
        _near(topologyKey="zone", labelSelector=SELECTOR, matchLabelKeys=["a b"]),
        _near(topologyKey="zone", labelSelector=SELECTOR, mismatchLabelKeys=["c"]),
        _near(
            topologyKey="zone",
            labelSelector=SELECTOR,
            matchLabelKeys=["c"],
            mismatchLabelKeys=["c"],
        ),
        _near(topologyKey="failure-domain.beta.kubernetes.io/zone"),
        _apart(weight=1),
        _apart(weight=1, podAffinityTerm={"topologyKey": "zone"}),
        _apart(weight=0, podAffinityTerm={"topologyKey": ""}),
        _apart(weight=101, podAffinityTerm={"topologyKey": "zone"}),
    ),
    pods(
        "tolerations",
        _tolerates(),
        _tolerates(operator="Exists"),
        _tolerates(key="a"),
        _tolerates(key="a b", operator="Exists"),
        _tolerates(key="a", operator="Equal", value="b"),
        _tolerates(key="a", operator="Equal", value="b c"),
        _tolerates(key="a", operator="Exists", value="b"),
        _tolerates(key="a", operator="Is"),
        _tolerates(key="a", effect="Never"),
        _tolerates(key="a", effect="NoSchedule", tolerationSeconds=1),
        _tolerates(key="a", effect="NoExecute", tolerationSeconds=-1),
        _tolerates(key="a", tolerationSeconds=1),
        _tolerates(operator="Equal", value="x", effect="Bad", tolerationSeconds=1),
        _tolerates(key="node.kubernetes.io/not-ready", operator="Exists"),
    ),
    pods(
        "spreading",
        _spread(),
        _spread(maxSkew=0),
        _spread(maxSkew=-1),
        _spread(topologyKey=""),
        _spread(topologyKey="a b"),
        _spread(whenUnsatisfiable=""),
        _spread(whenUnsatisfiable="Maybe"),
        _spread(labelSelector={"matchLabels": {"a b": "c"}}),
        _spread(minDomains=0),
        _spread(minDomains=2),
        _spread(minDomains=2, whenUnsatisfiable="ScheduleAnyway"),
        _spread(nodeAffinityPolicy="Honor", nodeTaintsPolicy="Ignore"),
        _spread(nodeAffinityPolicy="Never", nodeTaintsPolicy="Never"),
        _spread(matchLabelKeys=["a"]),
        _spread(labelSelector=SELECTOR, matchLabelKeys=["c"]),
        _spread(labelSelector=SELECTOR, matchLabelKeys=["a"]),
        _spread(labelSelector=SELECTOR, matchLabelKeys=["a b"]),
        {"topologySpreadConstraints": _spread()["topologySpreadConstraints"] * 2},
        {"topologySpreadConstraints": [{}]},
    ),
    pods(
        "gates",
        {"schedulingGates": [{"name": "a"}]},
        {"schedulingGates": [{"name": "a/b"}, {"name": "a/b"}]},
        {"schedulingGates": [{"name": "a b"}]},
        {"schedulingGates": [{}]},
        {"schedulingGates": [{"name": "a"}], "nodeName": "n"},
        {"readinessGates": [{"conditionType": "a/b"}]},
        {"readinessGates": [{"conditionType": "a b"}]},
        {"readinessGates": [{}]},
    ),
]
