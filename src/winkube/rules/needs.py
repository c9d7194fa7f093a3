"""Which field names must occur in an object before a rule can find anything in it.

Most rules are about a field that most objects do not have. The names that occur in an object are
collected once, and a rule whose names are not among them is not asked.
"""

from typing import Any

from winkube.rules.model import Rule
from winkube.rules.paths import Pattern
from winkube.rules.templates.fields import Fields

Needs = tuple[frozenset[str], ...]


def needs_of(rule: Rule) -> Needs:
    """Sets of names; of each set one name has to occur."""
    needs = [
        frozenset({_last_name(condition.field)}) for condition in rule.when if condition.present
    ]
    if isinstance(rule.params, Fields):
        needs.append(frozenset(_last_name(pattern) for pattern in rule.params.patterns))
    return tuple(names for names in needs if "" not in names)


def names_in(value: Any) -> set[str]:
    """All field names in an object."""
    names: set[str] = set()
    stack = [value]
    while stack:
        found = stack.pop()
        if isinstance(found, dict):
            names.update(found)
            stack += [below for below in found.values() if isinstance(below, dict | list)]
        else:
            stack += [below for below in found if isinstance(below, dict | list)]
    return names


def _last_name(pattern: Pattern) -> str:
    """The last plain name of a pattern; empty if it has none."""
    return next((step for step in reversed(pattern) if isinstance(step, str)), "")
