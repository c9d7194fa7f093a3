"""Persistent volume claims, and templates of them."""

from typing import Any, Final

from winkube.api import names
from winkube.api.decode import clone
from winkube.api.difference import difference
from winkube.api.meta import annotations_of
from winkube.api.validation.common import check_immutable, check_labels, check_selector
from winkube.api.validation.metadata import check_annotations
from winkube.api.validation.pod.resources import check_basic_quantity, number_of
from winkube.api.validation.problems import Problems
from winkube.api.volumes import CLASS_BETA
from winkube.base.types import JsonObject

MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES: Final = ("Block", "Filesystem")
_FIXED: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName "
    "for bound claims"
)
_STORAGE: Final = "spec.resources.requests.storage"
_RESIZES: Final = (
    "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress",
    "NodeResizeInfeasible", "NodeResizePending",
)  # fmt: skip


def validate_claim(obj: JsonObject, problems: Problems) -> None:
    check_claim_spec(obj.get("spec") or {}, "spec", problems)


def check_claim_template(template: JsonObject, path: str, problems: Problems) -> None:
    """Of an ephemeral volume: its metadata may have labels and annotations only."""
    meta, here = template.get("metadata") or {}, f"{path}.metadata"
    check_annotations(meta.get("annotations"), f"{here}.annotations", problems)
    check_labels(meta.get("labels"), f"{here}.labels", problems)
    for field in meta:
        if field not in ("annotations", "labels"):
            problems.forbidden(f"{here}.{field}", "cannot be set")
    check_claim_spec(template.get("spec") or {}, f"{path}.spec", problems)


def check_access_modes(modes: Any, path: str, problems: Problems) -> None:
    for mode in modes or ():
        if mode not in MODES:
            problems.unsupported(path, mode, MODES)
    others = [mode for mode in modes or () if mode in MODES and mode != "ReadWriteOncePod"]
    if others and "ReadWriteOncePod" in modes:
        problems.forbidden(path, "may not use ReadWriteOncePod with other access modes")


def check_claim_spec(spec: JsonObject, path: str, problems: Problems) -> None:
    modes = spec.get("accessModes")
    if not modes:
        problems.required(f"{path}.accessModes", "at least 1 access mode is required")
    check_selector(spec.get("selector"), f"{path}.selector", problems)
    check_access_modes(modes, f"{path}.accessModes", problems)
    _check_size(spec, f"{path}.resources[storage]", problems)
    _check_class_name(spec.get("storageClassName"), f"{path}.storageClassName", problems)
    check_volume_mode(spec, path, problems)
    _check_data_source(spec, path, problems)
    attributes = spec.get("volumeAttributesClassName")
    _check_class_name(attributes, f"{path}.volumeAttributesClassName", problems)


def _check_size(spec: JsonObject, path: str, problems: Problems) -> None:
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if storage is None:
        problems.required(path)
    elif number_of(storage) <= 0:
        problems.invalid(path, storage, "must be greater than zero")


def _check_class_name(name: str | None, path: str, problems: Problems) -> None:
    if name:
        problems.all_invalid(path, name, names.dns_subdomain_problems(name))


def check_volume_mode(spec: JsonObject, path: str, problems: Problems) -> None:
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        problems.unsupported(f"{path}.volumeMode", mode, VOLUME_MODES)


def _check_data_source(spec: JsonObject, path: str, problems: Problems) -> None:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None:
        _check_origin(source, f"{path}.dataSource", problems)
    if reference is not None:
        _check_origin(reference, f"{path}.dataSourceRef", problems)
        namespace = reference.get("namespace") or ""
        if namespace:
            here, details = f"{path}.dataSourceRef.namespace", names.dns_label_problems(namespace)
            problems.all_invalid(here, namespace, details)
    if source is None or reference is None:
        return
    # Upstream shows the path where the value belongs.
    if reference.get("namespace"):
        text = "may not be specified when dataSourceRef.namespace is specified"
        problems.invalid(path, {}, text)
    elif any(source.get(key) != reference.get(key) for key in ("apiGroup", "kind", "name")):
        problems.invalid(path, {}, "must match dataSourceRef")


def _check_origin(origin: JsonObject, path: str, problems: Problems) -> None:
    kind, group = origin.get("kind") or "", origin.get("apiGroup") or ""
    for field in ("name", "kind"):
        if not origin.get(field):
            problems.required(f"{path}.{field}")
    if not group and kind != "PersistentVolumeClaim":
        text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        problems.invalid(path, kind, text)
    if group:
        problems.all_invalid(f"{path}.apiGroup", group, names.dns_subdomain_problems(group))


def validate_claim_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    after, before = clone(new.get("spec") or {}), clone(old.get("spec") or {})
    if not before.get("volumeName"):
        before.pop("volumeName", None)
        if after.get("volumeName"):
            before["volumeName"] = after["volumeName"]
    _settle_class(new, old, after, problems)
    bound = (new.get("status") or {}).get("phase") == "Bound"
    now, was = _requests(after), _requests(before)
    wanted, had = number_of(now.get("storage", "0")), number_of(was.get("storage", "0"))
    if bound and now:
        now["storage"] = was.get("storage", "0")
    attributes = "volumeAttributesClassName"
    changed = after.get(attributes) != before.get(attributes)
    cleared = after.get(attributes)
    if bound:
        after.pop(attributes, None)
        before.pop(attributes, None)
    if after != before:
        shown = difference("PersistentVolumeClaimSpec", before, after)
        problems.forbidden("spec", f"{_FIXED}\n{shown}")
    capacity = ((old.get("status") or {}).get("capacity") or {}).get("storage", "0")
    if wanted < had and wanted <= number_of(capacity):
        problems.forbidden(_STORAGE, "field can not be less than status.capacity")
    mode = "volumeMode"
    check_immutable(new["spec"].get(mode), old["spec"].get(mode), mode, problems)
    current = (old.get("status") or {}).get("currentVolumeAttributesClassName")
    if changed and current is not None and not cleared:
        what = "nil" if cleared is None else "empty string"
        text = f"update to {what} is forbidden when status.currentVolumeAttributesClassName "
        problems.forbidden(f"spec.{attributes}", f"{text}is not nil")


def _requests(spec: JsonObject) -> JsonObject:
    requests: JsonObject = (spec.get("resources") or {}).get("requests") or {}
    return requests


def _settle_class(new: JsonObject, old: JsonObject, after: JsonObject, problems: Problems) -> None:
    """A class may be given to a claim that had none, or only an annotation from long ago."""
    field = "storageClassName"
    was, now = (old.get("spec") or {}).get(field), after.get(field)
    before, fresh = annotations_of(old).get(CLASS_BETA), annotations_of(new)
    stated = fresh.get(CLASS_BETA)
    upgraded = before is not None and was is None and now == before and stated in (None, before)
    if upgraded:
        after.pop(field, None)
        return
    if (stated or "") != (before or ""):
        here = f"metadata.annotations[{CLASS_BETA}]"
        problems.invalid(here, stated or "", "field is immutable")
    if now is not None and was is None and before in (None, now):
        after.pop(field, None)


def validate_claim_status(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    if not (new.get("spec") or {}).get("accessModes"):
        problems.required("Spec.accessModes")
    status = new.get("status") or {}
    for name, quantity in (status.get("capacity") or {}).items():
        check_basic_quantity(quantity, f"status.capacity[{name}]", problems)
    path = "status.allocatedResourceStatuses"
    for name, state in (status.get("allocatedResourceStatuses") or {}).items():
        _check_resource_key(name, path, problems)
        if state not in _RESIZES:
            problems.unsupported(path, name, _RESIZES)
    path = "status.allocatedResources"
    for name, quantity in (status.get("allocatedResources") or {}).items():
        if _check_resource_key(name, path, problems):
            check_basic_quantity(quantity, f"{path}[{name}]", problems)


def _check_resource_key(name: str, path: str, problems: Problems) -> bool:
    details = names.label_key_problems(name)
    problems.all_invalid(path, name, details)
    native = "/" not in name or "kubernetes.io/" in name
    if not details and native and name != "storage":
        problems.unsupported(path, name, ("storage",))
        return False
    return not details
