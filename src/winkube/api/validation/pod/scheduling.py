"""Where a pod may run: affinity, tolerations, spreading; and a node's taints."""

from typing import Any, Final

from winkube.api import names
from winkube.api.validation.common import (
    check_label_key,
    check_label_values,
    check_one_of,
    check_selector,
    check_set_operator,
)
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def check_affinity(affinity: JsonObject | None, path: str, problems: Problems) -> None:
    if not affinity:
        return
    node = affinity.get("nodeAffinity") or {}
    if node.get(_REQUIRED) is not None:
        check_node_selector(node[_REQUIRED], f"{path}.nodeAffinity.{_REQUIRED}", problems)
    for index, term in enumerate(node.get(_PREFERRED) or ()):
        here = f"{path}.nodeAffinity.{_PREFERRED}[{index}]"
        _check_weight(term, here, problems)
        preference = term.get("preference") or {}
        # Values no label can have are warned of: what is preferred need not be.
        _check_node_term(preference, f"{here}.preference", problems, values=False)
    for kind in ("podAffinity", "podAntiAffinity"):
        _check_pod_terms(affinity.get(kind) or {}, f"{path}.{kind}", problems)


def check_node_selector(selector: JsonObject, path: str, problems: Problems) -> None:
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        problems.required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for index, term in enumerate(terms):
        _check_node_term(term, f"{path}.nodeSelectorTerms[{index}]", problems)


def internal_term(term: JsonObject) -> JsonObject:
    """A node selector's term as messages about it show it."""

    def expressions(field: str) -> Any:
        return [
            {
                "Key": entry.get("key") or "",
                "Operator": entry.get("operator") or "",
                "Values": entry.get("values"),
            }
            for entry in term.get(field) or ()
        ] or None

    return {
        "MatchExpressions": expressions("matchExpressions"),
        "MatchFields": expressions("matchFields"),
    }


def _check_weight(term: JsonObject, path: str, problems: Problems) -> None:
    if not 1 <= (term.get("weight") or 0) <= 100:
        problems.invalid(f"{path}.weight", term.get("weight") or 0, "must be in the range 1-100")


def _check_node_term(
    term: JsonObject, path: str, problems: Problems, *, values: bool = True
) -> None:
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        here = f"{path}.matchExpressions[{index}]"
        _check_node_expression(expression, here, problems)
        if values:
            check_label_values(expression.get("values") or (), f"{here}.values", problems)
    for index, expression in enumerate(term.get("matchFields") or ()):
        _check_node_field(expression, f"{path}.matchFields[{index}]", problems)


def _check_node_expression(expression: JsonObject, path: str, problems: Problems) -> None:
    operator, values = expression.get("operator") or "", expression.get("values") or ()
    check_set_operator(operator, values, path, problems)
    if operator in ("Gt", "Lt"):
        if len(values) != 1:
            problems.required(
                f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'"
            )
    elif operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
        problems.invalid_enum(f"{path}.operator", operator, "not a valid selector operator")
    check_label_key(expression.get("key") or "", f"{path}.key", problems)


def _check_node_field(expression: JsonObject, path: str, problems: Problems) -> None:
    if expression.get("operator") not in ("In", "NotIn"):
        operator = expression.get("operator") or ""
        problems.invalid_enum(f"{path}.operator", operator, "not a valid selector operator")
    elif len(expression.get("values") or ()) != 1:
        problems.required(
            f"{path}.values",
            "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
        )
    if expression.get("key") != "metadata.name":
        key = expression.get("key") or ""
        problems.invalid(f"{path}.key", key, "not a valid field selector key")
        return
    for index, value in enumerate(expression.get("values") or ()):
        details = names.dns_subdomain_problems(value)
        problems.all_invalid(f"{path}.values[{index}]", value, details)


def _check_pod_terms(affinity: JsonObject, path: str, problems: Problems) -> None:
    for index, term in enumerate(affinity.get(_REQUIRED) or ()):
        _check_pod_term(term, f"{path}.{_REQUIRED}[{index}]", problems)
    for index, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        here = f"{path}.{_PREFERRED}[{index}]"
        _check_weight(weighted, here, problems)
        term = weighted.get("podAffinityTerm") or {}
        _check_pod_term(term, f"{here}.podAffinityTerm", problems)


def _check_pod_term(term: JsonObject, path: str, problems: Problems) -> None:
    check_selector(term.get("labelSelector"), f"{path}.labelSelector", problems)
    check_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector", problems)
    for namespace in term.get("namespaces") or ():
        details = names.dns_label_problems(namespace)
        problems.all_invalid(f"{path}.namespace", namespace, details)
    _check_label_keys(term, path, problems)
    if not term.get("topologyKey"):
        problems.required(f"{path}.topologyKey", "can not be empty")
    check_label_key(term.get("topologyKey") or "", f"{path}.topologyKey", problems)


def check_tolerations(tolerations: Any, path: str, problems: Problems) -> None:
    for index, toleration in enumerate(tolerations or ()):
        _check_toleration(toleration, f"{path}[{index}]", problems)


def _check_toleration(toleration: JsonObject, path: str, problems: Problems) -> None:
    key, operator = toleration.get("key") or "", toleration.get("operator") or ""
    value, effect = toleration.get("value") or "", toleration.get("effect") or ""
    if key:
        check_label_key(key, f"{path}.key", problems)
    elif operator != "Exists":
        problems.invalid_enum(
            f"{path}.operator",
            operator,
            'operator must be Exists when `key` is empty, which means "match all values and all '
            'keys"',
        )
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        problems.invalid_enum(
            f"{path}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"
        )
    if operator in ("", "Equal"):
        details = names.label_value_problems(value)
        if details:
            problems.invalid(f"{path}.operator", value, ";".join(details))
    elif operator != "Exists":
        problems.unsupported(f"{path}.operator", operator, ("Equal", "Exists"))
    elif value:
        problems.invalid(
            f"{path}.operator", value, "value must be empty when `operator` is 'Exists'"
        )
    if effect:
        check_one_of(effect, EFFECTS, f"{path}.effect", problems)


def check_taints(taints: Any, path: str, problems: Problems) -> None:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints or ()):
        here, key, effect = f"{path}[{index}]", taint.get("key") or "", taint.get("effect") or ""
        check_label_key(key, f"{here}.key", problems)
        details = names.label_value_problems(taint.get("value") or "")
        if details:
            problems.invalid(f"{here}.value", taint["value"], ";".join(details))
        check_one_of(effect, EFFECTS, f"{here}.effect", problems)
        if (key, effect) in seen:
            detail = "taints must be unique by key and effect pair"
            shown = {"Key": key, "Value": taint.get("value") or "", "Effect": effect}
            problems.duplicate(here, {**shown, "TimeAdded": taint.get("timeAdded")}, detail)
        seen.add((key, effect))


def check_spreading(constraints: Any, path: str, problems: Problems) -> None:
    pairs = [(c.get("topologyKey") or "", c.get("whenUnsatisfiable") or "") for c in constraints]
    last = {pair: index for index, pair in enumerate(pairs)}
    for index, constraint in enumerate(constraints):
        here, (key, action) = f"{path}[{index}]", pairs[index]
        _check_above_zero(constraint.get("maxSkew") or 0, f"{here}.maxSkew", problems)
        if not key:
            problems.required(f"{here}.topologyKey", "can not be empty")
        if action not in _ACTIONS:
            problems.unsupported(f"{here}.whenUnsatisfiable", action, _ACTIONS)
        if last[pairs[index]] != index:
            pair = f"{{{key}, {action}}}"
            problems.duplicate(f"{here}.{{topologyKey, whenUnsatisfiable}}", pair)
        if constraint.get("minDomains") is not None:
            _check_min_domains(constraint["minDomains"], action, f"{here}.minDomains", problems)
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            policy = constraint.get(field)
            if policy is not None and policy not in _POLICIES:
                problems.unsupported(f"{here}.{field}", policy, _POLICIES)
        _check_label_keys(constraint, here, problems)
        check_selector(constraint.get("labelSelector"), f"{here}.labelSelector", problems)


_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES: Final = ("Honor", "Ignore")


def _check_above_zero(value: int, path: str, problems: Problems) -> None:
    if value <= 0:
        problems.invalid(path, value, "must be greater than zero")


def _check_min_domains(value: int, action: str, path: str, problems: Problems) -> None:
    _check_above_zero(value, path, problems)
    if action != "DoNotSchedule":
        problems.invalid(
            path,
            value,
            f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}",
        )


def _check_label_keys(term: JsonObject, path: str, problems: Problems) -> None:
    """``matchLabelKeys`` and ``mismatchLabelKeys`` of an affinity term or a constraint."""
    selector, keys = term.get("labelSelector"), term.get("matchLabelKeys") or ()
    unlike = term.get("mismatchLabelKeys") or ()
    if not keys and not unlike:
        return
    for field, given in (("matchLabelKeys", keys), ("mismatchLabelKeys", unlike)):
        if given and selector is None:
            text = "must not be specified when labelSelector is not set"
            problems.forbidden(f"{path}.{field}", text)
            continue
        for index, key in enumerate(given):
            check_label_key(key, f"{path}.{field}[{index}]", problems)
    _check_merged_keys(selector or {}, list(keys), path, problems)
    for index, key in enumerate(keys):
        if key in unlike:
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            problems.invalid(f"{path}.matchLabelKeys[{index}]", key, text)


def _check_merged_keys(
    selector: JsonObject, keys: list[str], path: str, problems: Problems
) -> None:
    """The keys are in the selector already: one that is there twice was the user's own."""
    seen = set(selector.get("matchLabels") or ())
    for expression in selector.get("matchExpressions") or ():
        key = expression.get("key")
        if key in keys and key in seen:
            text = "exists in both matchLabelKeys and labelSelector"
            problems.invalid(f"{path}[{keys.index(key)}]", key, text)
        seen.add(key)
