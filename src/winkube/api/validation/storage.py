"""Storage classes."""

from winkube.api.validation.common import check_one_of
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject


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
