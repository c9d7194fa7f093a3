"""The flow schemas and priority levels every cluster has (upstream: apiserver's apis/flowcontrol).

Nothing here queues by them: clients list them, and some set their own beside them.
"""

from typing import Final

from winkube.base.types import JsonObject

_ALL: Final = ["*"]
_ANYTHING: Final = {
    "verbs": _ALL, "apiGroups": _ALL, "resources": _ALL, "clusterScope": True, "namespaces": _ALL,
}  # fmt: skip
_ANYWHERE: Final = {"verbs": _ALL, "nonResourceURLs": _ALL}
_LEASES: Final = {
    "verbs": _ALL, "apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
    "namespaces": _ALL,
}  # fmt: skip


def _users(*names: str) -> list[JsonObject]:
    return [{"kind": "User", "user": {"name": name}} for name in names]


def _groups(*names: str) -> list[JsonObject]:
    return [{"kind": "Group", "group": {"name": name}} for name in names]


_SYSTEM: Final = [
    {"kind": "ServiceAccount", "serviceAccount": {"namespace": "kube-system", "name": "*"}}
]
_EVERYBODY: Final = _groups("system:unauthenticated", "system:authenticated")


def _schema(
    level: str,
    precedence: int,
    by: str,
    subjects: list[JsonObject],
    rules: JsonObject | None = None,
) -> JsonObject:
    wide = {"resourceRules": [_ANYTHING], "nonResourceRules": [_ANYWHERE]}
    return {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": precedence,
        **({"distinguisherMethod": {"type": by}} if by else {}),
        "rules": [{"subjects": subjects, **(rules or wide)}],
    }


def _limited(shares: int, lent: int, queues: int = 0, hand: int = 6) -> JsonObject:
    response: JsonObject = {"type": "Reject"}
    if queues:
        queuing = {"queues": queues, "handSize": hand, "queueLengthLimit": 50}
        response = {"type": "Queue", "queuing": queuing}
    limited = {
        "nominalConcurrencyShares": shares,
        "limitResponse": response,
        "lendablePercent": lent,
    }
    return {"type": "Limited", "limited": limited}


_PROBES: Final = {
    "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"]}]
}
_NODE_HIGH: Final = {
    "resourceRules": [
        {**_ANYTHING, "apiGroups": [""], "resources": ["nodes", "nodes/status"]},
        _LEASES,
    ]
}
_MANAGER, _SCHEDULER = "system:kube-controller-manager", "system:kube-scheduler"

FLOW_SCHEMAS: Final[dict[str, JsonObject]] = {
    "exempt": _schema("exempt", 1, "", _groups("system:masters")),
    "probes": _schema("exempt", 2, "", _EVERYBODY, _PROBES),
    "system-leader-election": _schema(
        "leader-election",
        100,
        "ByUser",
        [*_users(_MANAGER, _SCHEDULER), *_SYSTEM],
        {"resourceRules": [{**_LEASES, "verbs": ["get", "create", "update"]}]},
    ),
    "system-node-high": _schema("node-high", 400, "ByUser", _groups("system:nodes"), _NODE_HIGH),
    "system-nodes": _schema("system", 500, "ByUser", _groups("system:nodes")),
    "kube-controller-manager": _schema("workload-high", 800, "ByNamespace", _users(_MANAGER)),
    "kube-scheduler": _schema("workload-high", 800, "ByNamespace", _users(_SCHEDULER)),
    "kube-system-service-accounts": _schema("workload-high", 900, "ByNamespace", _SYSTEM),
    "service-accounts": _schema("workload-low", 9000, "ByUser", _groups("system:serviceaccounts")),
    "global-default": _schema("global-default", 9900, "ByUser", _EVERYBODY),
    "catch-all": _schema("catch-all", 10000, "ByUser", _EVERYBODY),
}
PRIORITY_LEVELS: Final[dict[str, JsonObject]] = {
    "exempt": {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}},
    "catch-all": _limited(5, 0),
    "leader-election": _limited(10, 0, 16, 4),
    "node-high": _limited(40, 25, 64),
    "system": _limited(30, 33, 64),
    "workload-high": _limited(40, 50, 128),
    "workload-low": _limited(100, 90, 128),
    "global-default": _limited(20, 50, 128),
}
# These may not be anything else.
MANDATORY: Final = frozenset({"exempt", "catch-all"})
AUTO_UPDATE: Final = "apf.kubernetes.io/autoupdate-spec"
