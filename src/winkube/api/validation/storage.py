"""Persistent volumes, claims and storage classes."""

from typing import Final

from winkube.api import names
from winkube.api.decode import clone
from winkube.api.validation.common import check_one_of, check_selector
from winkube.api.validation.problems import Problems
from winkube.api.validation.resources import check_quantity, number_of
from winkube.base.types import JsonObject

_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES: Final = ("Block", "Filesystem")
_NOT_A_SOURCE: Final = frozenset(
    ("accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "volumeMode",
     "persistentVolumeReclaimPolicy", "storageClassName", "volumeAttributesClassName")
)  # fmt: skip


def validate_claim(obj: JsonObject, problems: Problems) -> None:
    check_claim_spec(obj.get("spec") or {}, "spec", problems)


def _check_modes(spec: JsonObject, path: str, problems: Problems) -> None:
    modes = spec.get("accessModes") or ()
    if not modes:
        problems.required(f"{path}.accessModes", "at least 1 access mode is required")
    for mode in modes:
        if mode not in _MODES:
            problems.unsupported(f"{path}.accessModes", mode, _MODES)
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        problems.forbidden(
            f"{path}.accessModes", "may not use ReadWriteOncePod with other access modes"
        )
    volume_mode = spec.get("volumeMode")
    if volume_mode is not None:
        check_one_of(volume_mode, _VOLUME_MODES, f"{path}.volumeMode", problems)


def check_claim_spec(spec: JsonObject, path: str, problems: Problems) -> None:
    _check_modes(spec, path, problems)
    check_selector(spec.get("selector"), f"{path}.selector", problems)
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if storage is None:
        problems.required(f"{path}.resources[storage]")
    elif number_of(storage) <= 0:
        problems.invalid(f"{path}.resources[storage]", storage, "must be greater than zero")
    cls = spec.get("storageClassName")
    if cls:
        problems.all_invalid(f"{path}.storageClassName", cls, names.dns_subdomain_problems(cls))


def validate_claim_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    after, before = clone(new.get("spec") or {}), clone(old.get("spec") or {})
    now = (after.get("resources") or {}).pop("requests", None) or {}
    was = (before.get("resources") or {}).pop("requests", None) or {}
    for spec in (after, before):
        spec.pop("volumeAttributesClassName", None)
    # Binding fills the volume in; a class may be given to a claim that had none.
    for field in ("volumeName", "storageClassName"):
        if not before.get(field):
            before.pop(field, None)
            after.pop(field, None)
    bound = (old.get("status") or {}).get("phase") == "Bound"
    if after != before or (now != was and not bound):
        problems.forbidden(
            "spec",
            "spec is immutable after creation except resources.requests and "
            "volumeAttributesClassName for bound claims",
        )
    elif number_of(now.get("storage", "0")) < number_of(was.get("storage", "0")):
        problems.forbidden(
            "spec.resources.requests.storage", "field can not be less than previous value"
        )


def validate_volume(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    _check_modes(spec, "spec", problems)
    capacity = spec.get("capacity") or {}
    if not capacity:
        problems.required("spec.capacity")
    elif "storage" not in capacity:
        problems.unsupported("spec.capacity", capacity, ("storage",))
    for name, quantity in capacity.items():
        check_quantity(name, quantity, f"spec.capacity[{name}]", problems)
    sources = [key for key in spec if key not in _NOT_A_SOURCE]
    if not sources:
        problems.required("spec", "must specify a volume type")
    for key in sources[1:]:
        problems.forbidden(f"spec.{key}", "may not specify more than 1 volume type")
    policies = ("Delete", "Recycle", "Retain")
    policy = spec.get("persistentVolumeReclaimPolicy")
    check_one_of(policy, policies, "spec.persistentVolumeReclaimPolicy", problems)


def validate_volume_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    for key in {*after, *before} - _NOT_A_SOURCE:
        if after.get(key) != before.get(key):
            problems.forbidden(
                "spec.persistentvolumesource",
                "spec.persistentvolumesource is immutable after creation",
            )
            break
    if after.get("volumeMode") != before.get("volumeMode"):
        problems.invalid("spec.volumeMode", after.get("volumeMode"), "field is immutable")


def validate_storage_class(obj: JsonObject, problems: Problems) -> None:
    if not obj.get("provisioner"):
        problems.required("provisioner")
    check_one_of(obj.get("reclaimPolicy"), ("Delete", "Retain"), "reclaimPolicy", problems)
    modes = ("Immediate", "WaitForFirstConsumer")
    check_one_of(obj.get("volumeBindingMode"), modes, "volumeBindingMode", problems)


def validate_storage_class_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    for field in ("parameters", "provisioner", "reclaimPolicy"):
        if new.get(field) != old.get(field):
            problems.forbidden(field, f"updates to {field} are forbidden.")
    if new.get("volumeBindingMode") != old.get("volumeBindingMode"):
        problems.invalid("volumeBindingMode", new.get("volumeBindingMode"), "field is immutable")
