"""Questions about access (upstream: pkg/apis/authorization/validation)."""

from winkube.api.errors import Cause
from winkube.api.names import label_key_problems, label_value_problems
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject


def validate_access_review(
    review: JsonObject, *, names_subject: bool, namespace: str = ""
) -> list[Cause]:
    """``names_subject`` of who asks about others; ``namespace`` of who asks about one alone."""
    problems = Problems()
    spec = review.get("spec") or {}
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    where = "spec.nonResourceAttributes"
    if resource is not None and path is not None:
        text = "cannot be specified in combination with resourceAttributes"
        problems.invalid(where, _shown(path), text)
    if resource is None and path is None:
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        problems.invalid("spec.resourceAttributes", None, text)
    if names_subject and not spec.get("user") and not spec.get("groups"):
        problems.invalid("spec.user", "", "at least one of user or group must be specified")
    for name in ("fieldSelector", "labelSelector"):
        _check_selector(resource or {}, name, problems)
    _check_metadata(review["metadata"], namespace, problems)
    asked = (resource or {}).get("namespace") or ""
    if namespace and resource is not None and asked != namespace:
        text = "must match metadata.namespace"
        problems.invalid("spec.resourceAttributes.namespace", asked, text)
    if namespace and path is not None:
        problems.invalid(where, _shown(path), "disallowed on this kind of request")
    return problems.causes


def _shown(path: JsonObject) -> JsonObject:
    """As upstream's own type prints itself."""
    return {"Path": path.get("path", ""), "Verb": path.get("verb", "")}


def _check_metadata(metadata: JsonObject, namespace: str, problems: Problems) -> None:
    """It is no object that could have a name."""
    allowed = {"managedFields", "namespace"} if namespace else {"managedFields"}
    if any(value for key, value in metadata.items() if key not in allowed):
        problems.invalid(
            "metadata", metadata, "must be empty" + " except for namespace" * bool(namespace)
        )


def _check_selector(resource: JsonObject, name: str, problems: Problems) -> None:
    selector, path = resource.get(name), f"spec.resourceAttributes.{name}"
    if selector is None:
        return
    raw, requirements = selector.get("rawSelector"), selector.get("requirements") or ()
    if raw and requirements:
        text = "may not specified at the same time as requirements"
        problems.invalid(f"{path}.rawSelector", raw, text)
    if not raw and not requirements:
        text = f"when {path} is specified, requirements or rawSelector is required"
        problems.required(f"{path}.requirements", text)
    for index, requirement in enumerate(requirements):
        here = f"{path}.requirements[{index}]"
        if name == "fieldSelector" and not requirement.get("key"):
            problems.required(f"{here}.key", "must be specified")
        _check_values(requirement, here, problems)
        if name == "labelSelector":
            _check_label(requirement, here, problems)


def _check_values(requirement: JsonObject, path: str, problems: Problems) -> None:
    """Operators that are not known are let pass: a newer client may know them."""
    operator, values = requirement.get("operator"), requirement.get("values")
    if operator in ("In", "NotIn") and not values:
        problems.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    if operator in ("Exists", "DoesNotExist") and values:
        text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        problems.forbidden(f"{path}.values", text)


def _check_label(requirement: JsonObject, path: str, problems: Problems) -> None:
    key = requirement.get("key") or ""
    problems.all_invalid(f"{path}.key", key, label_key_problems(key))
    for index, value in enumerate(requirement.get("values") or ()):
        problems.all_invalid(f"{path}.values[{index}]", value, label_value_problems(value))
