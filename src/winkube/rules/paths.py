"""Patterns of field paths: ``spec.volumes[*].hostPath``.

``[*]`` is every element of a list, ``{*}`` every value of a map, ``allContainers`` the three
lists of containers of a pod. A key with a dot is written in brackets: ``labels["a.b/c"]``.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from winkube.rules.errors import RulesError
from winkube.rules.model import Path

_STEP: Final = re.compile(r'\.?([A-Za-z_$][\w-]*)|\[(\*|\d+)\]|(\{\*\})|\["([^"]+)"\]')
CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")


class PatternError(RulesError):
    def __init__(self, text: str) -> None:
        super().__init__(f"not a field pattern: {text!r}")


class Each:
    """Every element of a list, or every value of a map."""

    __slots__ = ("kind",)

    def __init__(self, kind: type) -> None:
        self.kind = kind


EACH_ITEM: Final = Each(list)
EACH_VALUE: Final = Each(dict)
Step = str | int | Each | tuple[str, ...]
Pattern = tuple[Step, ...]


@lru_cache(maxsize=4096)
def parse_pattern(text: str) -> Pattern:
    steps: list[Step] = []
    position = 0
    while position < len(text):
        found = _STEP.match(text, position)
        if found is None:
            raise PatternError(text)
        position = found.end()
        name, index, values, quoted = found.groups()
        if name == "allContainers":
            steps.append(CONTAINERS)
        elif index is not None:
            steps.append(EACH_ITEM if index == "*" else int(index))
        else:
            steps.append(EACH_VALUE if values else name or quoted)
    return tuple(steps)


def find(value: Any, pattern: Pattern, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every place of a value that matches, with what is there."""
    for depth, step in enumerate(pattern):
        if isinstance(step, str):
            if not isinstance(value, dict) or step not in value:
                return
            value, at = value[step], (*at, step)
            continue
        rest = pattern[depth + 1 :]
        for key, below in _children(value, step):
            yield from find(below, rest, (*at, key))
        return
    yield at, value


def _children(value: Any, step: int | Each | tuple[str, ...]) -> Iterator[tuple[str | int, Any]]:
    if isinstance(step, tuple):
        if isinstance(value, dict):
            yield from ((name, value[name]) for name in step if name in value)
    elif isinstance(step, int):
        if isinstance(value, list) and step < len(value):
            yield step, value[step]
    elif step.kind is list and isinstance(value, list):
        yield from enumerate(value)
    elif step.kind is dict and isinstance(value, dict):
        yield from value.items()


def first(value: Any, *steps: str | int) -> Any:
    """What is at a plain path; None where the path ends early."""
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value
