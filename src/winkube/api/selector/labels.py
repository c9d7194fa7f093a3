"""Label selectors: metav1.LabelSelector, and its form in queries."""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from winkube.api.errors import BadRequestError
from winkube.api.selector.label_query import Requirement, parse_requirements
from winkube.base.types import JsonObject


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """No requirement matches everything; ``nothing`` matches nothing (a null selector)."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        if self.nothing:
            return False
        have = labels or {}
        return all(requirement.matches(have) for requirement in self.requirements)

    @property
    def empty(self) -> bool:
        return not self.requirements and not self.nothing


EVERYTHING: Final = LabelSelector()
NOTHING: Final = LabelSelector(nothing=True)


def parse_label_selector(text: str) -> LabelSelector:
    return LabelSelector(parse_requirements(text)) if text else EVERYTHING


def from_label_selector(selector: JsonObject | None) -> LabelSelector:
    """Read a metav1.LabelSelector: null selects nothing, an empty one everything."""
    if selector is None:
        return NOTHING
    labels = selector.get("matchLabels") or {}
    requirements = [Requirement(key, "in", frozenset((value,))) for key, value in labels.items()]
    expressions = selector.get("matchExpressions") or ()
    requirements += [_from_expression(expression) for expression in expressions]
    return LabelSelector(tuple(requirements))


def from_match_labels(labels: Mapping[str, str] | None) -> LabelSelector:
    """Read a plain map (Service, ReplicationController): empty selects nothing."""
    return from_label_selector({"matchLabels": labels}) if labels else NOTHING


def _from_expression(expression: JsonObject) -> Requirement:
    operators = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "absent"}
    operator = operators.get(expression.get("operator") or "")
    if operator is None:
        raise BadRequestError(
            f'"{expression.get("operator")}" is not a valid label selector operator'
        )
    return Requirement(expression["key"], operator, frozenset(expression.get("values") or ()))


def selector_query(selector: JsonObject | None) -> str:
    """A label selector in its query form; a plain map (replication controllers) as well."""
    if not selector:
        return ""
    if not ({"matchLabels", "matchExpressions"} & set(selector)):
        return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))
    labels = selector.get("matchLabels") or {}
    parts = [(key, f"{key}={value}") for key, value in labels.items()]
    for entry in selector.get("matchExpressions") or ():
        key, values = entry["key"], ",".join(sorted(entry.get("values") or ()))
        match entry["operator"]:
            case "Exists":
                parts.append((key, key))
            case "DoesNotExist":
                parts.append((key, f"!{key}"))
            case "In":
                parts.append((key, f"{key} in ({values})"))
            case _:
                parts.append((key, f"{key} notin ({values})"))
    return ",".join(text for _, text in sorted(parts, key=itemgetter(0)))
