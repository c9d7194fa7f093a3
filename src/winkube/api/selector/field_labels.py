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


def _never(_: JsonObject) -> str:
    """A name that selectors may use, for something that no object has."""
    return ""


def _first_ip(obj: JsonObject) -> str:
    entries = (obj.get("status") or {}).get("podIPs") or ()
    return _text(entries[0].get("ip")) if entries else ""


def _event_source(obj: JsonObject) -> str:
    return str((obj.get("source") or {}).get("component") or obj.get("reportingComponent") or "")


_NAME: Final[Mapping[str, Read]] = {"metadata.name": _at("metadata.name")}
_COMMON: Final[Mapping[str, Read]] = {**_NAME, "metadata.namespace": _at("metadata.namespace")}
_REFERENCE: Final = (
    "kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath",
)  # fmt: skip


def _fields(*paths: str) -> dict[str, Read]:
    return {path: _at(path) for path in paths}


# Kinds that say themselves what can be asked for; all others offer their names alone.
_BY_KIND: Final[Mapping[tuple[str, str], Mapping[str, Read]]] = {
    ("", "Pod"): {
        **_COMMON,
        **_fields("spec.nodeName", "spec.restartPolicy", "spec.schedulerName"),
        **_fields("spec.serviceAccountName", "status.phase", "status.nominatedNodeName"),
        "spec.host": _at("spec.nodeName"),
        "spec.hostNetwork": _flag("spec.hostNetwork"),
        "status.podIP": _first_ip,
        "status.podIPs": _never,
    },
    ("", "Node"): {**_NAME, "spec.unschedulable": _flag("spec.unschedulable")},
    ("", "Namespace"): {**_NAME, **_fields("status.phase")},
    ("", "Secret"): {**_COMMON, **_fields("type")},
    ("", "Service"): {**_COMMON, **_fields("spec.clusterIP", "spec.type")},
    ("", "ReplicationController"): {**_COMMON, "status.replicas": _number("status.replicas")},
    ("", "Event"): {
        **_COMMON,
        **_fields(*(f"involvedObject.{field}" for field in _REFERENCE)),
        **_fields("reason", "reportingComponent", "type"),
        "source": _event_source,
    },
    ("batch", "Job"): {**_COMMON, "status.successful": _number("status.succeeded")},
    ("certificates.k8s.io", "CertificateSigningRequest"): {**_NAME, **_fields("spec.signerName")},
    ("events.k8s.io", "Event"): {
        **_COMMON,
        **_fields(*(f"regarding.{field}" for field in _REFERENCE)),
        **_fields("reason", "reportingController", "type"),
    },
    ("resource.k8s.io", "ResourceSlice"): {**_NAME, **_fields("spec.driver", "spec.nodeName")},
}


def has_own_fields(kind: Kind | None) -> bool:
    """Whether selectors of this kind reach beyond its metadata."""
    return kind is not None and (kind.group, kind.kind) in _BY_KIND


def supported_fields(kind: Kind | None) -> Mapping[str, Read]:
    return _COMMON if kind is None else _BY_KIND.get((kind.group, kind.kind), _COMMON)
