"""Node selectors and affinity as the API defines them, and tolerations of taints."""

from collections.abc import Iterable, Mapping
from typing import Any

from winkube.api.meta import labels_of, name_of
from winkube.base.types import JsonObject


def matches_expression(labels: Mapping[str, str], expression: JsonObject) -> bool:
    value = labels.get(expression["key"])
    values = expression.get("values") or []
    match expression.get("operator"):
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    order = {"Gt": 1, "Lt": -1}.get(expression.get("operator") or "")
    return order is not None and _compare(value, values) == order


def _compare(value: str | None, values: list[Any]) -> int:
    try:
        have, bound = int(value or ""), int(values[0])
    except (ValueError, IndexError):
        return 0
    return (have > bound) - (have < bound)


def matches_term(name: str, labels: Mapping[str, str], term: JsonObject) -> bool:
    """Every requirement of a term has to hold; an empty term matches nothing."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    by_field = {"metadata.name": name}
    return all(matches_expression(labels, each) for each in expressions) and all(
        matches_expression(by_field, each) for each in fields
    )


def matches_node(pod_spec: JsonObject, node: JsonObject) -> bool:
    """Whether the nodeSelector and the required node affinity of a pod accept this node."""
    wanted = pod_spec.get("nodeSelector") or {}
    if not wanted.items() <= labels_of(node).items():
        return False
    affinity = (pod_spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    name, labels = name_of(node), labels_of(node)
    return any(matches_term(name, labels, t) for t in required.get("nodeSelectorTerms") or ())


def tolerates(toleration: JsonObject, taint: JsonObject) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if toleration.get("key") not in (None, "", taint["key"]):
        return False
    if toleration.get("operator") == "Exists":
        return True
    same = (toleration.get("value") or "") == (taint.get("value") or "")
    return bool(toleration.get("key")) and same


class Tolerations:
    """Many tolerations, asked about many taints: a look-up each, however many there are."""

    def __init__(self, given: Iterable[JsonObject]) -> None:
        self._said = frozenset(
            (
                each.get("key") or "",
                each.get("effect") or "",
                None if each.get("operator") == "Exists" else each.get("value") or "",
            )
            for each in given
        )

    def tolerate(self, taint: JsonObject) -> bool:
        said = self._said
        if not said:
            return False
        key, effect, value = taint["key"], taint.get("effect") or "", taint.get("value") or ""
        # Without a key only the operator Exists means anything.
        return any(
            (key, each, None) in said or (key, each, value) in said or ("", each, None) in said
            for each in (effect, "")
        )


def is_tolerated(tolerations: Iterable[JsonObject], taint: JsonObject) -> bool:
    return any(tolerates(toleration, taint) for toleration in tolerations)
