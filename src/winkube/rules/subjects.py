"""The pods inside an object: of the known kinds by their place, of any other kind by shape."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from winkube.base.types import JsonObject
from winkube.rules.model import Path
from winkube.rules.paths import first

_DEEPEST: Final = 40
_TEMPLATES: Final[Mapping[str, Path]] = {
    "Pod": (),
    "Deployment": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "ReplicationController": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
    "PodTemplate": ("template",),
}
_WITHOUT_PODS: Final = frozenset(
    [
        "ConfigMap",
        "Secret",
        "Service",
        "Namespace",
        "Node",
        "ServiceAccount",
        "Role",
        "RoleBinding",
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "NetworkPolicy",
        "Ingress",
        "IngressClass",
        "StorageClass",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "RuntimeClass",
        "PriorityClass",
        "Endpoints",
        "EndpointSlice",
        "HorizontalPodAutoscaler",
        "PodDisruptionBudget",
        "ResourceQuota",
        "LimitRange",
        "Event",
        "Lease",
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "APIService",
        "CSIDriver",
        "PodSecurityPolicy",
    ]
)


class Subject(NamedTuple):
    """A pod in the form {metadata, spec}, and where its parts really are."""

    pod: JsonObject
    base: Path
    spec_key: str = "spec"

    def locate(self, path: Path) -> Path:
        """The place of a field in the whole object."""
        if path and path[0] == "spec":
            path = (self.spec_key, *path[1:])
        return self.base + path


def pods_in(document: JsonObject) -> Iterator[Subject]:
    kind = document.get("kind")
    place = _TEMPLATES.get(kind) if isinstance(kind, str) else None
    if place is not None:
        pod = first(document, *place)
        if isinstance(pod, dict) and isinstance(pod.get("spec"), dict):
            yield Subject(pod, place)
    elif not isinstance(kind, str) or kind not in _WITHOUT_PODS:
        yield from _by_shape(document, ())


def _by_shape(value: Any, at: Path) -> Iterator[Subject]:
    if len(at) > _DEEPEST:
        return
    if isinstance(value, list):
        for index, below in enumerate(value):
            if isinstance(below, dict | list):
                yield from _by_shape(below, (*at, index))
    elif isinstance(value, dict):
        for key, below in value.items():
            if not isinstance(key, str) or not isinstance(below, dict | list):
                continue
            if isinstance(below, dict) and _is_pod_spec(below):
                metadata = value.get("metadata") if key == "spec" else None
                yield Subject({"metadata": metadata or {}, "spec": below}, at, key)
            else:
                yield from _by_shape(below, (*at, key))


def _is_pod_spec(value: JsonObject) -> bool:
    containers = value.get("containers")
    return (
        isinstance(containers, list)
        and bool(containers)
        and all(isinstance(each, dict) and "name" in each for each in containers)
        and any("image" in each for each in containers)
    )
