"""The rights of the cluster's own components, beside upstream's roles for upstream's.

The controllers run under one identity, so their role is the sum of what upstream gives each of
them; a name of its own keeps upstream's role as upstream's components know it. Two of them
(garbage collection, namespace deletion) have to reach objects of every kind.
"""

from collections.abc import Iterator
from typing import Final

from winkube.base.types import JsonObject

_READ: Final = ["get", "list", "watch"]
_EVENTS: Final = ["", "events.k8s.io"]
# What the controllers make: each group's kinds.
_MADE: Final = (
    (
        "",
        [
            "configmaps",
            "endpoints",
            "persistentvolumeclaims",
            "persistentvolumes",
            "pods",
            "pods/eviction",
            "replicationcontrollers",
            "secrets",
            "serviceaccounts",
            "serviceaccounts/token",
            "services",
        ],
    ),
    ("apps", ["controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"]),
    ("batch", ["jobs"]),
    ("discovery.k8s.io", ["endpointslices"]),
    ("storage.k8s.io", ["volumeattachments"]),
    ("authentication.k8s.io", ["tokenreviews"]),
    ("authorization.k8s.io", ["subjectaccessreviews"]),
)

CONTROLLERS: Final = "winkube:controllers"
SCHEDULER: Final = "winkube:scheduler"
PROXY: Final = "winkube:proxy"
DNS: Final = "system:coredns"
METRICS: Final = "system:metrics-server"

# (role, user): who has which of the roles below.
COMPONENT_USERS: Final = (
    (CONTROLLERS, "system:kube-controller-manager"),
    (SCHEDULER, "system:kube-scheduler"),
    (PROXY, "system:kube-proxy"),
    (DNS, "system:dns"),
    (METRICS, "system:metrics-server"),
)


def _rule(groups: list[str], resources: list[str], verbs: list[str]) -> JsonObject:
    return {"apiGroups": groups, "resources": resources, "verbs": verbs}


def _events() -> JsonObject:
    return _rule(_EVENTS, ["events"], ["create", "patch", "update"])


def _leases(name: str) -> list[JsonObject]:
    """Leader election: anybody may create a lease, and hold only the one of its name."""
    own = _rule(["coordination.k8s.io"], ["leases"], ["get", "update", "patch"])
    return [
        _rule(["coordination.k8s.io"], ["leases"], ["create"]),
        {**own, "resourceNames": [name]},
    ]


def _controllers() -> list[JsonObject]:
    reach = [*_READ, "patch", "update", "delete", "deletecollection"]
    made = [_rule([group], kinds, ["create"]) for group, kinds in _MADE]
    return [
        _rule(["*"], ["*"], reach),
        *made,
        _events(),
        *_signing(),
        # The aggregation of roles writes rules its own identity need not have.
        _rule(["rbac.authorization.k8s.io"], ["clusterroles"], ["escalate"]),
        *_leases("kube-controller-manager")[:1],
    ]


def _signing() -> list[JsonObject]:
    """Approve kubelets' own certificates, and sign for Kubernetes' signers."""
    names = ("kube-apiserver-client", "kube-apiserver-client-kubelet", "kubelet-serving")
    signers = [f"kubernetes.io/{name}" for name in (*names, "legacy-unknown")]
    group = ["certificates.k8s.io"]
    return [
        {**_rule(group, ["signers"], ["approve"]), "resourceNames": signers[1:2]},
        {**_rule(group, ["signers"], ["sign"]), "resourceNames": signers},
    ]


def _scheduler() -> list[JsonObject]:
    looked_at = (
        ("", ["namespaces", "nodes", "replicationcontrollers", "services"]),
        ("", ["persistentvolumeclaims", "persistentvolumes"]),
        ("apps", ["replicasets", "statefulsets"]),
        ("policy", ["poddisruptionbudgets"]),
        ("storage.k8s.io", ["csidrivers", "csinodes", "csistoragecapacities", "storageclasses"]),
    )
    return [
        _rule([""], ["pods"], [*_READ, "delete"]),
        _rule([""], ["bindings", "pods/binding"], ["create"]),
        _rule([""], ["pods/status"], ["patch", "update"]),
        *(_rule([group], kinds, _READ) for group, kinds in looked_at),
        _rule([""], ["persistentvolumeclaims", "persistentvolumes"], ["patch", "update"]),
        _events(),
        *_leases("kube-scheduler"),
    ]


def _proxy() -> list[JsonObject]:
    return [
        _rule([""], ["endpoints", "nodes", "services"], _READ),
        _rule(["discovery.k8s.io"], ["endpointslices"], _READ),
        _events(),
    ]


def _dns() -> list[JsonObject]:
    return [
        _rule([""], ["endpoints", "namespaces", "nodes", "pods", "services"], _READ),
        _rule(["discovery.k8s.io"], ["endpointslices"], _READ),
    ]


def _metrics() -> list[JsonObject]:
    return [
        _rule([""], ["nodes/metrics"], ["get"]),
        _rule([""], ["namespaces", "nodes", "pods"], _READ),
    ]


def component_roles() -> Iterator[tuple[str, list[JsonObject]]]:
    yield CONTROLLERS, _controllers()
    yield SCHEDULER, _scheduler()
    yield PROXY, _proxy()
    yield DNS, _dns()
    yield METRICS, _metrics()
