"""Node selector terms: which nodes a pod or a volume names by labels and fields."""

from collections.abc import Mapping
from typing import Any

from winkube.base.types import JsonObject


def matches_expression(labels: Mapping[str, str], expression: JsonObject) -> bool:
    value = labels.get(expression["key"])
    values = expression.get("values") or []
    match expression["operator"]:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    order = {"Gt": 1, "Lt": -1}.get(expression["operator"])
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
