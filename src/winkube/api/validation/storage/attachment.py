"""VolumeAttachments, CSIStorageCapacities and VolumeAttributesClasses."""

from typing import Final

from winkube.api import names
from winkube.api.internal import internal
from winkube.api.quantity import parse_quantity
from winkube.api.validation.common import check_immutable, check_immutable_text, check_selector
from winkube.api.validation.problems import Problems
from winkube.api.validation.storage.persistent_volume import check_inline_volume
from winkube.api.validation.storage.volume_source import check_driver_name
from winkube.base.types import JsonObject

_MAX_PARAMETERS: Final = 512
_MAX_PARAMETER_BYTES: Final = 256 * 1024
_ONE_SOURCE: Final = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def validate_attachment(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    source, path = spec.get("source") or {}, "spec.source"
    if not spec.get("attacher"):
        problems.required("spec.attacher")
    inline, volume = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    if inline is None and volume is None:
        problems.required(path, _ONE_SOURCE)
    elif inline is not None and volume is not None:
        problems.forbidden(path, _ONE_SOURCE)
    elif volume == "":
        text = "must specify non empty persistentVolumeName"
        problems.required(f"{path}.persistentVolumeName", text)
    elif inline is not None:
        check_inline_volume(inline, f"{path}.inlineVolumeSpec", problems)
    node = spec.get("nodeName") or ""
    problems.all_invalid("spec.nodeName", node, names.dns_subdomain_problems(node))


def validate_new_attachment(obj: JsonObject, problems: Problems) -> None:
    validate_attachment(obj, problems)
    spec = obj.get("spec") or {}
    attacher = spec.get("attacher") or ""
    check_driver_name(attacher, "spec.attacher", problems)
    volume = (spec.get("source") or {}).get("persistentVolumeName")
    if volume is not None:
        path = "spec.source.persistentVolumeName"
        problems.all_invalid(path, volume, names.dns_subdomain_problems(volume))


def validate_attachment_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    # Upstream looks at the object for updates, and once more for what changed.
    validate_attachment(new, problems)
    validate_attachment(new, problems)
    if new.get("spec") != old.get("spec"):
        problems.invalid("spec", _internal(new.get("spec") or {}), "field is immutable")


def _internal(spec: JsonObject) -> JsonObject:
    """As upstream's own type has the fields."""
    source = spec.get("source") or {}
    inline = source.get("inlineVolumeSpec")
    return {
        "Attacher": spec.get("attacher") or "",
        "Source": {
            "PersistentVolumeName": source.get("persistentVolumeName"),
            "InlineVolumeSpec": None
            if inline is None
            else internal("PersistentVolumeSpec", inline),
        },
        "NodeName": spec.get("nodeName") or "",
    }


def validate_capacity(obj: JsonObject, problems: Problems) -> None:
    check_selector(obj.get("nodeTopology"), "nodeTopology", problems)
    name = obj.get("storageClassName") or ""
    problems.all_invalid("storageClassName", name, names.dns_subdomain_problems(name))
    amount = obj.get("capacity")
    if amount is not None and parse_quantity(amount) < 0:
        problems.invalid("capacity", amount, "must be greater than or equal to 0")


def validate_capacity_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    validate_capacity(new, problems)
    check_immutable(new.get("nodeTopology"), old.get("nodeTopology"), "nodeTopology", problems)
    name, before = new.get("storageClassName"), old.get("storageClassName")
    check_immutable_text(name, before, "storageClassName", problems)


def validate_attributes_class(obj: JsonObject, problems: Problems) -> None:
    check_maker(obj.get("driverName") or "", "driverName", problems)
    parameters = obj.get("parameters") or {}
    check_parameters(parameters, "parameters", problems)
    if not parameters:
        problems.required("parameters", "must contain at least one key/value pair")


def check_maker(name: str, path: str, problems: Problems) -> None:
    """Who makes the volumes of a class; upstream judges and shows the name in small letters."""
    if not name:
        problems.required(path)
    else:
        problems.all_invalid(path, name.lower(), names.label_key_problems(name.lower()))


def check_parameters(parameters: JsonObject, path: str, problems: Problems) -> None:
    if len(parameters) > _MAX_PARAMETERS:
        problems.too_long(path, _MAX_PARAMETERS)
        return
    if "" in parameters:
        problems.invalid(path, "", "field can not be empty.")
    size = sum(len(key.encode()) + len(value.encode()) for key, value in parameters.items())
    if size > _MAX_PARAMETER_BYTES:
        problems.too_long(path, _MAX_PARAMETER_BYTES)


def validate_attributes_class_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    validate_attributes_class(new, problems)
    for field in ("driverName", "parameters"):
        if new.get(field) != old.get(field):
            problems.forbidden(field, f"updates to {field} are forbidden.")
    # Upstream looks at the object for creations and updates, and once more for updates.
    validate_attributes_class(new, problems)
