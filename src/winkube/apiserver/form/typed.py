"""Whether a body is of the kind its path asks for; the sentences for when it is not."""

from typing import Any, Final

from winkube.api.errors import BadRequestError, UndecodableError
from winkube.api.kinds import KINDS, Kind
from winkube.api.patch import json_name
from winkube.base.types import JsonObject

_SUMMARY: Final = 30
_SCHEME: Final = 'in scheme "pkg/runtime/scheme.go:110"'
# Kinds of the meta group that every group version can decode.
_COMMON: Final = frozenset({"Status", "DeleteOptions", "ListOptions", "WatchEvent", "APIGroup"})
# The packages of the form a kind takes inside upstream's server, where not the group's first word.
_INTERNAL: Final = {
    "": "core",
    "events.k8s.io": "core",
    "rbac.authorization.k8s.io": "rbac",
}
_HEADER: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)


def unrecognized(kind: str, fault: str, raw: bytes) -> BadRequestError:
    return BadRequestError(
        f"the object provided is unrecognized (must be of type {kind}): {fault} ({_summary(raw)})"
    )


def _summary(raw: bytes) -> str:
    if not raw:
        return "<empty>"
    head, more = raw[:_SUMMARY], " ..." * (len(raw) > _SUMMARY)
    return (head.decode(errors="replace") if raw[:1] == b"{" else head.hex()) + more


def header_fault(document: Any) -> str | None:
    """Why kind and version cannot even be read; None when they can."""
    said = "couldn't get version/kind; json parse error: json: cannot unmarshal"
    if not isinstance(document, dict):
        return f"{said} {json_name(document)} into Go value of type {_HEADER}"
    for name in ("apiVersion", "kind"):
        value = document.get(name)
        if value is not None and not isinstance(value, str):
            return f"{said} {json_name(value)} into Go struct field .{name} of type string"
    version = document.get("apiVersion") or ""
    return f"unexpected GroupVersion string: {version}" if version.count("/") > 1 else None


def check_type(kind: Kind, obj: JsonObject) -> None:
    """Fill in kind and version, or say which ones they should have been."""
    found = obj.get("kind") or kind.kind
    version = obj.get("apiVersion") or kind.api_version
    if (found, version) != (kind.kind, kind.api_version):
        raise _other_kind(kind, found, version)
    obj["kind"], obj["apiVersion"] = found, version


def _other_kind(kind: Kind, found: str, api_version: str) -> BadRequestError:
    group, _, version = api_version.rpartition("/")
    known = KINDS.by_gvk(group, version, found.removesuffix("List"))
    if found == kind.kind and known is not None and group == kind.group:
        return BadRequestError(
            f"the API version in the data ({api_version}) does not match the expected API version "
            f"({kind.api_version})"
        )
    if known is not None or (found in _COMMON and group == kind.group):
        inner = f"({_INTERNAL.get(kind.group) or kind.group.partition('.')[0]}.{kind.kind})"
        cause = f"converting ({version}.{found}) to {inner}: unknown conversion"
    else:
        cause = unregistered(found, api_version)
    return UndecodableError(found, version, cause, asked=kind.kind)


def unregistered(kind: str, api_version: str) -> str:
    return f'no kind "{kind}" is registered for version "{api_version}" {_SCHEME}'
