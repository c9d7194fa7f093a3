"""Which fields a field selector may name, by kind, and how each is read."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from winkube.api.kinds import Kind
from winkube.base.types import JsonObject

Read = Callable[[JsonObject], str]


def _at(path: str) -> Read:
    steps = path.split(".")

    def read(obj: JsonObject) -> str:
        value: Any = obj
        for step in steps:
            value = value.get(step) if isinstance(value, dict) else None
        return _text(value)

    return read


def _flag(path: str) -> Read:
    """Go prints an unset bool as false."""
    inner = _at(path)
    return lambda obj: inner(obj) or "false"


def _number(path: str) -> Read:
    inner = _at(path)
    return lambda obj: inner(obj) or "0"


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _pod_ips(obj: JsonObject) -> str:
    entries = (obj.get("status") or {}).get("podIPs") or ()
    return ",".join(str(entry.get("ip", "")) for entry in entries)


def _event_source(obj: JsonObject) -> str:
    return str((obj.get("source") or {}).get("component") or obj.get("reportingComponent") or "")


_COMMON: Final[Mapping[str, Read]] = {
    "metadata.name": _at("metadata.name"),
    "metadata.namespace": _at("metadata.namespace"),
}
_REFERENCE: Final = (
    "kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath",
)  # fmt: skip
_EVENT: Final[Mapping[str, Read]] = {
    **{
        f"involvedObject.{field}": _at(f"involvedObject.{field}")
        for field in (
            "kind",
            "namespace",
            "name",
            "uid",
            "apiVersion",
            "resourceVersion",
            "fieldPath",
        )
    },
    "reason": _at("reason"),
    "reportingComponent": _at("reportingComponent"),
    "source": _event_source,
    "type": _at("type"),
}
_BY_KIND: Final[Mapping[tuple[str, str], Mapping[str, Read]]] = {
    ("", "Pod"): {
        "spec.nodeName": _at("spec.nodeName"),
        "spec.restartPolicy": _at("spec.restartPolicy"),
        "spec.schedulerName": _at("spec.schedulerName"),
        "spec.serviceAccountName": _at("spec.serviceAccountName"),
        "spec.hostNetwork": _flag("spec.hostNetwork"),
        "status.phase": _at("status.phase"),
        "status.podIP": _at("status.podIP"),
        "status.podIPs": _pod_ips,
        "status.nominatedNodeName": _at("status.nominatedNodeName"),
    },
    ("", "Node"): {"spec.unschedulable": _flag("spec.unschedulable")},
    ("", "Namespace"): {"status.phase": _at("status.phase"), "name": _at("metadata.name")},
    ("", "Secret"): {"type": _at("type")},
    ("", "Service"): {"spec.clusterIP": _at("spec.clusterIP"), "spec.type": _at("spec.type")},
    ("", "PersistentVolume"): {"name": _at("metadata.name")},
    ("", "PersistentVolumeClaim"): {"name": _at("metadata.name")},
    ("", "ReplicationController"): {"status.replicas": _number("status.replicas")},
    ("", "Event"): _EVENT,
    ("apps", "ReplicaSet"): {"status.replicas": _number("status.replicas")},
    ("batch", "Job"): {"status.successful": _number("status.succeeded")},
    ("certificates.k8s.io", "CertificateSigningRequest"): {
        "spec.signerName": _at("spec.signerName")
    },
    ("events.k8s.io", "Event"): {
        "reason": _at("reason"),
        "reportingController": _at("reportingController"),
        "regarding.kind": _at("regarding.kind"),
        "regarding.name": _at("regarding.name"),
        "regarding.namespace": _at("regarding.namespace"),
        "regarding.uid": _at("regarding.uid"),
        "type": _at("type"),
    },
    ("networking.k8s.io", "IPAddress"): {
        "spec.parentRef.name": _at("spec.parentRef.name"),
        "spec.parentRef.resource": _at("spec.parentRef.resource"),
    },
    ("resource.k8s.io", "ResourceSlice"): {
        "spec.driver": _at("spec.driver"),
        "spec.nodeName": _at("spec.nodeName"),
    },
}


def has_own_fields(kind: Kind | None) -> bool:
    """Whether selectors of this kind reach beyond its metadata."""
    return kind is not None and (kind.group, kind.kind) in _BY_KIND


def supported_fields(kind: Kind | None) -> Mapping[str, Read]:
    if kind is None:
        return _COMMON
    common = dict(_COMMON) if kind.namespaced else {"metadata.name": _COMMON["metadata.name"]}
    return {**common, **_BY_KIND.get((kind.group, kind.kind), {})}
