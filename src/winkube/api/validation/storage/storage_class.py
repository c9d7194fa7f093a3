"""Storage classes (upstream: pkg/apis/storage/validation)."""

from typing import Final

from winkube.api import names
from winkube.api.validation.common import check_given
from winkube.api.validation.problems import Problems
from winkube.api.validation.storage.attachment import check_maker, check_parameters
from winkube.base.types import JsonObject

_POLICIES: Final = ("Delete", "Retain")


def validate_storage_class(obj: JsonObject, problems: Problems) -> None:
    check_maker(obj.get("provisioner") or "", "provisioner", problems)
    check_parameters(obj.get("parameters") or {}, "parameters", problems)
    if obj.get("reclaimPolicy"):
        check_given(obj["reclaimPolicy"], _POLICIES, "reclaimPolicy", problems)
    modes = ("Immediate", "WaitForFirstConsumer")
    check_given(obj.get("volumeBindingMode"), modes, "volumeBindingMode", problems)
    terms = obj.get("allowedTopologies") or ()
    # Upstream compares with as many empty terms as there are terms.
    earlier: list[dict[str, set[str]]] = [{} for _ in terms]
    for index, term in enumerate(terms):
        path = f"allowedTopologies[{index}].matchLabelExpressions"
        found = _check_topology(term, path, problems)
        for _ in range(earlier.count(found)):
            problems.duplicate(path, "")
        earlier.append(found)


def _check_topology(term: JsonObject, path: str, problems: Problems) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for index, requirement in enumerate(term.get("matchLabelExpressions") or ()):
        here, key = f"{path}[{index}]", requirement.get("key") or ""
        values = requirement.get("values") or []
        if not values:
            problems.required(f"{here}.values")
        for place, value in enumerate(values):
            if value in values[:place]:
                problems.duplicate(f"{here}.values[{place}]", value)
        problems.all_invalid(f"{here}.key", key, names.label_key_problems(key))
        if key in found:
            problems.duplicate(f"{here}.key", key)
        found[key] = set(values)
    return found


def validate_storage_class_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    for field in ("parameters", "provisioner", "reclaimPolicy"):
        if new.get(field) != old.get(field):
            problems.forbidden(field, f"updates to {field} are forbidden.")
    if new.get("volumeBindingMode") != old.get("volumeBindingMode"):
        problems.invalid_enum(
            "volumeBindingMode", new.get("volumeBindingMode"), "field is immutable"
        )
