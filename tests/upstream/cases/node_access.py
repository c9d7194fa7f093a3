"""What a kubelet may do, and what it is told when it may not."""

from typing import Any

from tests.upstream.cases.access import acting, review
from tests.upstream.exchange import JSON, MERGE, Case, Step

NODE = "node-{ns}"
USER = f"system:node:{NODE}"
GROUPS = ["system:nodes", "system:authenticated"]
PODS = "/api/v1/namespaces/{ns}/pods"
READ = ("get", "list", "watch")
WRITE = ("create", "update", "patch", "delete", "deletecollection")


def asks(verb: str, resource: str, name: str = "", *, user: str = USER, **more: str) -> Step:
    """``resource`` with its group behind a point and its part behind a slash."""
    full, _, sub = resource.partition("/")
    plural, _, group = full.partition(".")
    attributes = {"verb": verb, "resource": plural, "name": name, "namespace": "{ns}", **more}
    if group:
        attributes["group"] = group
    if sub:
        attributes["subresource"] = sub
    spec = {"user": user, "groups": GROUPS, "resourceAttributes": attributes}
    return review("subjectaccessreviews", spec)


def every(resource: str, *names: str, verbs: tuple[str, ...] = (*READ, *WRITE), **more: Any) -> Any:
    return [asks(verb, resource, name, **more) for verb in verbs for name in names]


def pod(name: str, node: str) -> Any:
    container = {"name": "c", "image": "app", "envFrom": [{"secretRef": {"name": "used"}}]}
    volumes = [
        {"name": "a", "configMap": {"name": "used"}},
        {"name": "b", "persistentVolumeClaim": {"claimName": "used"}},
        {"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}},
    ]  # fmt: skip
    spec = {"nodeName": node, "containers": [container], "volumes": volumes}
    return {"metadata": {"name": name}, "spec": spec}


NOWHERE: Any = {"namespace": ""}
LEASES: Any = {"namespace": "kube-node-lease"}
CASES = [
    Case(
        "what has nothing to do with a node",
        [
            *every("secrets", "other", ""),
            asks("get", "secrets", "other", **NOWHERE),
            asks("get", "secrets/part", "other"),
            *every("configmaps", "other", "", verbs=("get", "list", "update")),
            *every("persistentvolumeclaims", "other", ""),
            *every("persistentvolumeclaims/status", "other", verbs=("get", "update", "patch")),
            *every("persistentvolumes", "other", verbs=("get", "delete"), **NOWHERE),
            *every("serviceaccounts", "other", verbs=("get", "list", "create", "delete")),
            *every("serviceaccounts/token", "other", "", verbs=("create", "get")),
            *every("pods", "other", ""),
            *every("pods/status", "other"),
            *every("pods/log", "other", verbs=("get", "create")),
            *every("pods/eviction", "other", verbs=("create", "get")),
            *every("nodes", "other", NODE, "", **NOWHERE),
            *every("nodes/status", "other", NODE, **NOWHERE),
            *every("nodes/proxy", NODE, verbs=("get", "create"), **NOWHERE),
            *every("leases.coordination.k8s.io", "other", NODE, ""),
            *every("leases.coordination.k8s.io", "other", NODE, "", **LEASES),
            *every("csinodes.storage.k8s.io", "other", NODE, "", **NOWHERE),
            *every("csinodes.storage.k8s.io/status", NODE, verbs=("get",), **NOWHERE),
            *every("volumeattachments.storage.k8s.io", "other", verbs=("get", "list"), **NOWHERE),
            *every("resourceclaims.resource.k8s.io", "other", verbs=("get", "list")),
            *every("services", "other", ""),
            *every("events", "other", ""),
            *every("events.events.k8s.io", "other", "", verbs=("create", "patch", "get")),
            *every("deployments.apps", "other", ""),
            *every("runtimeclasses.node.k8s.io", "other", "", verbs=("get", "list", "create")),
            *every("csidrivers.storage.k8s.io", "other", verbs=("get", "create"), **NOWHERE),
            *every("certificatesigningrequests.certificates.k8s.io", "", verbs=("create", "list")),
            *every("tokenreviews.authentication.k8s.io", "", verbs=("create", "get")),
            *every("subjectaccessreviews.authorization.k8s.io", "", verbs=("create", "get")),
            asks("get", "secrets", "other", user="system:node:"),
            asks("get", "secrets", "other", user="bob"),
        ],
        managed=False,
    ),
    Case(
        "what pods of a node refer to",
        [
            Step("POST", PODS, pod("here", NODE)),
            Step("POST", PODS, pod("there", "elsewhere-{ns}")),
            asks("get", "services"),
            *every("secrets", "used"),
            *every("configmaps", "used"),
            *every("persistentvolumeclaims", "used", "here-own", "there-own"),
            *every("persistentvolumeclaims/status", "used", verbs=("get", "update", "patch")),
            *every("serviceaccounts", "default"),
            *every("serviceaccounts/token", "default", verbs=("create", "get")),
            *every("pods", "here", "there"),
            *every("pods/eviction", "here", "there", verbs=("create",)),
        ],
        managed=False,
    ),
    Case(
        "acting as a node",
        [
            Step("POST", PODS, pod("here", NODE)),
            Step("POST", PODS, pod("there", "elsewhere-{ns}")),
            *(
                Step(
                    verb,
                    path,
                    body,
                    MERGE if verb == "PATCH" else JSON,
                    headers=acting(USER, "system:nodes"),
                )
                for verb, path, body in (
                    ("GET", PODS, None),
                    ("GET", "/api/v1/namespaces/{ns}/secrets", None),
                    ("GET", "/api/v1/namespaces/{ns}/secrets/other", None),
                    ("GET", "/api/v1/nodes", None),
                    ("GET", "/api/v1/nodes/other", None),
                    ("DELETE", f"/api/v1/nodes/{NODE}", None),
                    ("POST", f"{PODS}/there/eviction", {"metadata": {"name": "there"}}),
                    ("POST", f"{PODS}/none/eviction", {"metadata": {"name": "none"}}),
                    ("POST", f"{PODS}/here/eviction", {"metadata": {"name": "here"}}),
                    ("DELETE", f"{PODS}/there", None),
                    ("PATCH", f"{PODS}/there/status", {"status": {"phase": "Failed"}}),
                    ("POST", "/api/v1/nodes", {"metadata": {"name": "other-{ns}"}}),
                    ("POST", PODS, pod("mirror", NODE)),
                )
            ),
        ],
        managed=False,
    ),
]
