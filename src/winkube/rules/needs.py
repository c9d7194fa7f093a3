"""Which field names must occur in an object before a rule can find anything in it.

Most rules are about a field that most objects do not have. The names that occur in an object are
collected once, and a rule whose names are not among them is not asked. Objects with the same names
are asked the same rules, so the choice is remembered.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Generic, TypeVar

from winkube.rules.model import Rule
from winkube.rules.paths import Pattern
from winkube.rules.placement import BUILD_LABEL
from winkube.rules.templates.fields import Count, Fields, Required
from winkube.rules.templates.keys import Keys
from winkube.rules.templates.numbers import Often, Pair

Names = frozenset[str]
Needs = tuple[tuple[Names, ...], ...]  # of each tuple one set has to occur as a whole

Asked = TypeVar("Asked")
_REMEMBERED: Final = 4096
_OF_TEMPLATE: Final[Mapping[str, tuple[Names, ...]]] = {
    "feature-gates": (Names(["featureGates"]),),
    "flannel-vxlan": (Names(["net-conf.json"]),),
    "host-process": (Names(["hostProcess"]),),
    "image-build": (Names(["image"]),),
    "kubeadm-flags": (Names(["kubeletExtraArgs"]),),
    "non-root-administrator": (Names(["runAsNonRoot"]),),
    "program-flags": (Names(["command"]), Names(["args"])),
    "require-program-flag": (Names(["command"]), Names(["args"])),
    "windows-supported": (Names([BUILD_LABEL]),),
}


def needs_of(rule: Rule) -> Needs:
    conditions = [(_names(condition.field),) for condition in rule.when if condition.present]
    own = _OF_TEMPLATE.get(rule.template) or _of_params(rule.params)
    return tuple(choices for choices in (*conditions, own) if all(choices))


def _of_params(params: Any) -> tuple[Names, ...]:
    match params:
        case Fields():
            return tuple(_names(pattern) for pattern in params.patterns)
        case Keys():
            return tuple(_names(pattern) for pattern in params.maps)
        case Count() | Often():
            return (_names(params.pattern),)
        case Pair():
            return (_names((*params.each, *params.left, *params.right)),)
        case Required():
            return (_names(params.each),)
    return (Names(),)


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


class Chooser(Generic[Asked]):
    """Of some rules, those that an object with certain names has to be asked."""

    def __init__(self, rules: Iterable[tuple[Asked, Needs]]) -> None:
        self._rules = tuple(rules)
        self._names = Names().union(
            *(names for _, needs in self._rules for choices in needs for names in choices)
        )
        self._chosen: dict[Names, tuple[Asked, ...]] = {}

    def choose(self, names: set[str]) -> tuple[Asked, ...]:
        key = self._names & names
        found = self._chosen.get(key)
        if found is None:
            if len(self._chosen) >= _REMEMBERED:
                self._chosen.clear()
            found = tuple(rule for rule, needs in self._rules if _are_met(needs, key))
            self._chosen[key] = found
        return found


def _are_met(needs: Needs, names: Names) -> bool:
    return all(any(wanted <= names for wanted in choices) for choices in needs)


def _names(pattern: Pattern) -> Names:
    """The plain names of a pattern: each has to be there for the pattern to lead anywhere."""
    return Names(step for step in pattern if isinstance(step, str))
