"""The roles and bindings every cluster has, as data (upstream's names)."""

from collections.abc import Iterator
from typing import Final

from winkube.apiserver.auth.component_roles import COMPONENT_USERS, component_roles
from winkube.apiserver.auth.rbac import GROUP
from winkube.base.types import JsonObject

_READ: Final = ["get", "list", "watch"]
_WRITE: Final = ["create", "delete", "deletecollection", "patch", "update"]
# (group, resources) that users of a namespace look at, and those they may also change.
_COMMON: Final = (
    (
        "",
        [
            "configmaps",
            "endpoints",
            "persistentvolumeclaims",
            "persistentvolumeclaims/status",
            "pods",
            "pods/log",
            "pods/status",
            "replicationcontrollers",
            "replicationcontrollers/scale",
            "replicationcontrollers/status",
            "serviceaccounts",
            "services",
            "services/status",
        ],
    ),
    (
        "apps",
        [
            "controllerrevisions",
            "daemonsets",
            "daemonsets/status",
            "deployments",
            "deployments/scale",
            "deployments/status",
            "replicasets",
            "replicasets/scale",
            "replicasets/status",
            "statefulsets",
            "statefulsets/scale",
            "statefulsets/status",
        ],
    ),
    ("autoscaling", ["horizontalpodautoscalers", "horizontalpodautoscalers/status"]),
    ("batch", ["cronjobs", "cronjobs/status", "jobs", "jobs/status"]),
    ("networking.k8s.io", ["ingresses", "ingresses/status", "networkpolicies"]),
    ("policy", ["poddisruptionbudgets", "poddisruptionbudgets/status"]),
)
_LOOK_ONLY: Final = [
    "bindings",
    "events",
    "limitranges",
    "namespaces",
    "namespaces/status",
    "resourcequotas",
    "resourcequotas/status",
]


def _rule(groups: list[str], resources: list[str], verbs: list[str]) -> JsonObject:
    return {"apiGroups": groups, "resources": resources, "verbs": verbs}


def _view() -> list[JsonObject]:
    rules = [_rule([group], resources, _READ) for group, resources in _COMMON]
    return [
        *rules,
        _rule([""], _LOOK_ONLY, _READ),
        _rule(["discovery.k8s.io"], ["endpointslices"], _READ),
    ]


def _edit() -> list[JsonObject]:
    rules = [
        _rule([group], [name for name in resources if _is_editable(name)], _WRITE)
        for group, resources in _COMMON
    ]
    streams = ["pods/attach", "pods/exec", "pods/portforward", "pods/proxy", "services/proxy"]
    return [
        *_view(),
        *rules,
        _rule([""], ["secrets"], [*_READ, *_WRITE]),
        _rule([""], streams, ["get", "create", "delete", "patch", "update"]),
        _rule([""], ["pods/eviction", "serviceaccounts/token"], ["create"]),
        _rule([""], ["serviceaccounts"], ["impersonate"]),
        _rule(["coordination.k8s.io"], ["leases"], [*_READ, *_WRITE]),
    ]


def _is_editable(resource: str) -> bool:
    """Who writes endpoints sends a service's traffic anywhere (CVE-2021-25740): only looked at."""
    return not resource.endswith("/status") and resource not in ("endpoints", "pods/log")


def _admin() -> list[JsonObject]:
    return [
        *_edit(),
        _rule([GROUP], ["roles", "rolebindings"], [*_READ, *_WRITE]),
        _rule(["authorization.k8s.io"], ["localsubjectaccessreviews"], ["create"]),
    ]


def _roles() -> Iterator[tuple[str, list[JsonObject]]]:
    everything = _rule(["*"], ["*"], ["*"])
    yield "cluster-admin", [everything, {"nonResourceURLs": ["*"], "verbs": ["*"]}]
    yield "admin", _admin()
    yield "edit", _edit()
    yield "view", _view()
    health = ["/healthz", "/livez", "/readyz", "/version", "/version/"]
    discovery = ["/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", *health]
    yield "system:discovery", [{"nonResourceURLs": discovery, "verbs": ["get"]}]
    yield "system:public-info-viewer", [{"nonResourceURLs": health, "verbs": ["get"]}]
    reviews = ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]
    yield (
        "system:basic-user",
        [
            _rule(["authorization.k8s.io"], reviews, ["create"]),
            _rule(["authentication.k8s.io"], ["selfsubjectreviews"], ["create"]),
        ],
    )
    yield (
        "system:service-account-issuer-discovery",
        [
            {
                "nonResourceURLs": ["/.well-known/openid-configuration", "/openid/v1/jwks"],
                "verbs": ["get"],
            }
        ],
    )


_BOUND: Final = (
    ("cluster-admin", ("system:masters",)),
    ("system:discovery", ("system:authenticated",)),
    ("system:basic-user", ("system:authenticated",)),
    ("system:public-info-viewer", ("system:authenticated", "system:unauthenticated")),
    ("system:service-account-issuer-discovery", ("system:serviceaccounts",)),
)
_LABELS: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}


def bootstrap_roles() -> Iterator[JsonObject]:
    for name, rules in (*_roles(), *component_roles()):
        yield {"metadata": {"name": name, "labels": dict(_LABELS)}, "rules": rules}


def bootstrap_bindings() -> Iterator[JsonObject]:
    for name, groups in _BOUND:
        yield _binding(name, [("Group", group) for group in groups])
    for name, user in COMPONENT_USERS:
        yield _binding(name, [("User", user)])


def _binding(name: str, subjects: list[tuple[str, str]]) -> JsonObject:
    return {
        "metadata": {"name": name, "labels": dict(_LABELS)},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
        "subjects": [
            {"apiGroup": GROUP, "kind": kind, "name": subject} for kind, subject in subjects
        ],
    }
