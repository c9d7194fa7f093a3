"""ObjectMeta: names, labels, annotations, owners, and what an update may not change."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from winkube.api import names
from winkube.api.addresses import strict_address_problems
from winkube.api.kinds import Kind
from winkube.api.validation.common import check_labels
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

ANNOTATION_BYTES: Final = 256 * 1024
NameCheck = Callable[[str], Sequence[str]]

_PATH_SEGMENT_GROUPS: Final = {"rbac.authorization.k8s.io", "certificates.k8s.io"}


_BY_KIND: Final[dict[tuple[str, str], NameCheck]] = {
    ("", "Namespace"): names.dns_label_problems,
    ("", "Service"): names.dns_1035_label_problems,
    ("", "Event"): names.path_segment_problems,
    ("events.k8s.io", "Event"): names.path_segment_problems,
    ("apps", "StatefulSet"): names.dns_label_problems,
    ("networking.k8s.io", "IPAddress"): strict_address_problems,
    ("policy", "PodDisruptionBudget"): names.path_segment_problems,
    ("apiregistration.k8s.io", "APIService"): names.path_segment_problems,
}


def name_check(kind: Kind) -> NameCheck:
    """The rule this kind's names obey."""
    if kind.group in _PATH_SEGMENT_GROUPS:
        return names.path_segment_problems
    return _BY_KIND.get((kind.group, kind.kind), names.dns_subdomain_problems)


def validate_metadata(
    kind: Kind, meta: Any, problems: Problems, check: NameCheck | None = None
) -> None:
    """``check`` is the rule for names; without one it is the kind's own look, with its own rule."""
    if not isinstance(meta, dict):
        problems.required("metadata")
        return
    _check_name(check or name_check(kind), meta, problems)
    _check_namespace(kind, meta, problems)
    if (meta.get("generation") or 0) < 0:
        problems.invalid(
            "metadata.generation", meta["generation"], "must be greater than or equal to 0"
        )
    _check_notes(meta, problems)
    _check_finalizers(meta.get("finalizers") or [], "metadata.finalizers", problems)
    _check_managers(meta.get("managedFields") or (), problems)
    if check is None:
        check_standard_finalizers(kind, meta, problems)


# Kinds whose rules know nothing of finalizers' names beyond what is true of all names.
_ANY_FINALIZER: Final = frozenset(
    {
        "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io",
        "coordination.k8s.io", "node.k8s.io", "policy",
    }
)  # fmt: skip
_STANDARD_FINALIZERS: Final = ("orphan", "foregroundDeletion", "kubernetes")


def check_standard_finalizers(kind: Kind, meta: JsonObject, problems: Problems) -> None:
    if kind.group in _ANY_FINALIZER:
        return
    for index, finalizer in enumerate(meta.get("finalizers") or ()):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            text = "name is neither a standard finalizer name nor is it fully qualified"
            problems.invalid(f"metadata.finalizers[{index}]", finalizer, text)


def _check_notes(meta: JsonObject, problems: Problems) -> None:
    check_labels(meta.get("labels"), "metadata.labels", problems)
    check_annotations(meta.get("annotations"), "metadata.annotations", problems)
    _check_owners(meta.get("ownerReferences") or (), problems)


def _check_name(check: NameCheck, meta: JsonObject, problems: Problems) -> None:
    prefix, name = meta.get("generateName") or "", meta.get("name") or ""
    if prefix:
        # A prefix may end in what a whole name may not end in: the suffix follows.
        masked = prefix[:-2] + "a" if prefix.endswith("-") else prefix
        problems.all_invalid("metadata.generateName", prefix, check(masked))
    if not name:
        problems.required("metadata.name", "name or generateName is required")
    else:
        details = check(name)
        problems.all_invalid("metadata.name", name, details)
        if not details and "\0" in name:
            problems.invalid("metadata.name", name, "may not contain a NUL character")


def _check_namespace(kind: Kind, meta: JsonObject, problems: Problems) -> None:
    namespace = meta.get("namespace") or ""
    if not kind.namespaced:
        if namespace:
            problems.forbidden("metadata.namespace", "not allowed on this type")
    elif not namespace:
        problems.required("metadata.namespace")
    else:
        details = names.dns_label_problems(namespace)
        problems.all_invalid("metadata.namespace", namespace, details)


def check_annotations(annotations: Any, path: str, problems: Problems) -> None:
    total = 0
    for key, value in (annotations or {}).items():
        details = names.label_key_problems(key.lower())
        if details:
            problems.all_invalid(path, key, details)
        total += len(key.encode()) + len(value.encode())
    if total > ANNOTATION_BYTES:
        problems.too_long(path, ANNOTATION_BYTES)


def _check_finalizers(finalizers: list[str], path: str, problems: Problems) -> None:
    for finalizer in finalizers:
        problems.all_invalid(path, finalizer, names.label_key_problems(finalizer))
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        text = "finalizer orphan and foregroundDeletion cannot be both set"
        problems.invalid(path, finalizers, text)


def _check_owners(owners: Any, problems: Problems) -> None:
    controllers = []
    path = "metadata.ownerReferences"
    for owner in owners:
        version = owner.get("apiVersion") or ""
        if not version or version.count("/") > 1:
            problems.invalid(f"{path}.apiVersion", version, "version must not be empty")
        for field in ("kind", "name", "uid"):
            if not owner.get(field):
                problems.invalid(f"{path}.{field}", owner.get(field) or "", "must not be empty")
        if (version, owner.get("kind")) == ("v1", "Event"):
            problems.invalid(
                path, _in_order(owner), "/v1, Kind=Event is disallowed from being an owner"
            )
        if owner.get("controller"):
            controllers.append(owner)
    if len(controllers) > 1:
        first, second = controllers[0], controllers[1]
        problems.invalid(
            "metadata.ownerReferences",
            [_in_order(owner) for owner in owners],
            "Only one reference can have Controller set to true. Found "
            f'"true" in references for {_owner(first)} and {_owner(second)}',
        )


_OWNER: Final = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")


def _in_order(owner: JsonObject) -> JsonObject:
    return {field: owner[field] for field in _OWNER if field in owner}


def _owner(owner: JsonObject) -> str:
    return f"{owner.get('kind', '')}/{owner.get('name', '')}"


def validate_metadata_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    if old.get("deletionTimestamp"):
        added = set(new.get("finalizers") or ()) - set(old.get("finalizers") or ())
        if added:
            shown = ", ".join(f'"{finalizer}"' for finalizer in sorted(added))
            problems.forbidden(
                "metadata.finalizers",
                "no new finalizers can be added if the object is being deleted, found new "
                f"finalizers []string{{{shown}}}",
            )
    if (new.get("generation") or 0) < (old.get("generation") or 0):
        problems.invalid(
            "metadata.generation", new.get("generation") or 0, "must not be decremented"
        )
    for field in _IMMUTABLE:
        if new.get(field) != old.get(field):
            problems.invalid(f"metadata.{field}", new.get(field), "field is immutable")
    _check_notes(new, problems)
    _check_managers(new.get("managedFields") or (), problems)


def _check_managers(entries: Iterable[JsonObject], problems: Problems) -> None:
    for index, entry in enumerate(entries):
        path, manager = f"metadata.managedFields[{index}]", entry.get("manager") or ""
        check_manager(manager, f"{path}.manager", problems)
        if len((entry.get("subresource") or "").encode()) > _MAX_PART:
            problems.too_long(f"{path}.subresource", _MAX_PART)


def check_manager(manager: str, path: str, problems: Problems) -> None:
    if len(manager.encode()) > _MAX_MANAGER:
        problems.too_long(path, _MAX_MANAGER)
    if not manager.isprintable():
        for index, char in enumerate(manager):
            if not char.isprintable():
                text = f"invalid character U+{ord(char):04X} (at position {index})"
                problems.invalid(path, manager, text)


_MAX_MANAGER: Final = 128
_MAX_PART: Final = 256
_IMMUTABLE: Final = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
