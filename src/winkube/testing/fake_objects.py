"""The rules about single objects that FakeApi follows; no storage, no I/O."""

from collections.abc import Callable
from typing import Any

from winkube.api.errors import Cause, ConflictError, InvalidError, NotFoundError
from winkube.api.kinds import KINDS, Kind
from winkube.api.selector.fields import parse_field_selector
from winkube.api.selector.labels import parse_label_selector
from winkube.base.types import JsonObject
from winkube.client.resource import PODS, Resource

Matcher = Callable[[JsonObject], bool]
_FINALIZERS = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}


def kind_of(resource: Resource) -> Kind | None:
    return KINDS.by_resource(resource.group, resource.version, resource.plural)


def kind_name(resource: Resource) -> str:
    kind = kind_of(resource)
    return kind.kind if kind else resource.plural


def has_status(resource: Resource) -> bool:
    kind = kind_of(resource)
    return kind is not None and "status" in kind.subresources


def place_of(obj: JsonObject) -> tuple[str, str]:
    metadata = obj["metadata"]
    return metadata.get("namespace") or "", metadata["name"]


def matcher(
    resource: Resource, namespace: str | None, labels: str | None, fields: str | None
) -> Matcher:
    by_label = parse_label_selector(labels or "")
    by_field = parse_field_selector(fields or "", kind_of(resource))

    def matches(obj: JsonObject) -> bool:
        metadata = obj["metadata"]
        return (
            (not namespace or metadata.get("namespace") == namespace)
            and by_label.matches(metadata.get("labels"))
            and by_field.matches(obj)
        )

    return matches


def merge(target: Any, patch: Any) -> Any:
    """Apply a JSON merge patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    result = target if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def content(obj: JsonObject) -> JsonObject:
    """Everything but the version: a write that changes none of it is no write."""
    metadata = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    return {**obj, "metadata": metadata}


def finalizers(obj: JsonObject) -> list[str]:
    spec = obj.get("spec") or {}
    own = spec.get("finalizers") or [] if obj.get("kind") == "Namespace" else []
    return [*(obj["metadata"].get("finalizers") or []), *own]


def add_propagation(obj: JsonObject, policy: str | None) -> None:
    finalizer = _FINALIZERS.get(policy or "")
    found = obj["metadata"].setdefault("finalizers", [])
    if finalizer and finalizer not in found:
        found.append(finalizer)
    if not found:
        del obj["metadata"]["finalizers"]


def check_preconditions(resource: Resource, obj: JsonObject, options: JsonObject) -> None:
    wanted = options.get("preconditions") or {}
    metadata = obj["metadata"]
    for field in ("uid", "resourceVersion"):
        if wanted.get(field) and wanted[field] != metadata[field]:
            raise ConflictError.of(
                resource.plural,
                metadata["name"],
                f"the {field} in the precondition ({wanted[field]}) does not match the {field} "
                f"in record ({metadata[field]})",
                group=resource.group,
            )


def check_uid(resource: Resource, obj: JsonObject, patch: JsonObject) -> None:
    """A patch that names the uid of another object of the name is not made."""
    given = (patch.get("metadata") or {}).get("uid")
    if given and given != obj["metadata"]["uid"]:
        cause = Cause(
            "FieldValueInvalid", f'Invalid value: "{given}": field is immutable', "metadata.uid"
        )
        raise InvalidError.of(kind_name(resource), obj["metadata"]["name"], [cause])


def grace_seconds(resource: Resource, obj: JsonObject, options: JsonObject) -> int:
    """Only a pod that may be running gets time to stop."""
    if resource != PODS:
        return 0
    finished = obj.get("status", {}).get("phase") in ("Succeeded", "Failed")
    if finished or not obj.get("spec", {}).get("nodeName"):
        return 0
    asked = options.get("gracePeriodSeconds")
    default = obj["spec"].get("terminationGracePeriodSeconds", 30)
    wanted = int(default if asked is None else asked)
    current = obj["metadata"].get("deletionGracePeriodSeconds")
    return wanted if current is None else min(wanted, int(current))


def discovery(path: str) -> JsonObject:
    """The discovery documents of the built-in kinds."""
    kinds = KINDS.all()
    if path == "/apis":
        groups = sorted({(kind.group, kind.version) for kind in kinds if kind.group})
        versions = [{"groupVersion": f"{group}/{version}", "version": version}
                    for group, version in groups]  # fmt: skip
        named = zip(groups, versions, strict=True)
        return {
            "kind": "APIGroupList",
            "groups": [
                {"name": group, "versions": [entry], "preferredVersion": entry}
                for (group, _), entry in named
            ],
        }
    wanted = path.removeprefix("/apis/").removeprefix("/api/")
    found = [kind for kind in kinds if kind.api_version == wanted]
    if not found:
        raise NotFoundError("the server could not find the requested resource")
    resources = [
        {"name": kind.plural, "namespaced": kind.namespaced, "kind": kind.kind,
         "verbs": list(kind.verbs)} for kind in found
    ]  # fmt: skip
    return {"kind": "APIResourceList", "groupVersion": wanted, "resources": resources}
