"""What applying a configuration makes of an object: merge what it says, remove what it left."""

from collections import deque
from collections.abc import Iterable
from typing import Any, Final

from winkube.api.decode import clone
from winkube.api.schema import Shape
from winkube.apiserver.apply.element import (
    child_shape,
    is_associative,
    is_atomic,
    key_step,
    list_keys,
    value_step,
)
from winkube.apiserver.apply.tree import Path
from winkube.base.types import JsonObject

Doomed = JsonObject  # steps in steps; ``_ITSELF`` says that what is here goes whole
_ITSELF: Final = ""


def merge(shape: Shape | None, live: Any, wanted: Any) -> Any:
    """A new value: ``wanted`` wins where it says something."""
    if shape is None:
        return clone(wanted)
    merges = not is_atomic(shape) if isinstance(live, dict) else is_associative(shape)
    if wanted is None and merges:
        # To say nothing of something is to leave it alone; of nothing, either way is a change.
        return clone(live) if live else None
    if isinstance(live, dict) and isinstance(wanted, dict) and merges:
        result = dict(live)
        for key, value in wanted.items():
            known = key in live
            result[key] = (
                merge(child_shape(shape, key), live[key], value) if known else clone(value)
            )
        return result
    if isinstance(live, list) and isinstance(wanted, list):
        if list_keys(shape):
            return _merge_elements(shape, live, wanted)
        if shape.list_type == "set":
            there = set(map(value_step, live))
            return [*live, *(entry for entry in wanted if value_step(entry) not in there)]
    return clone(wanted)


def _merge_elements(shape: Shape, live: list[Any], wanted: list[Any]) -> list[Any]:
    """Elements the author lists come in the author's order; the others keep their place."""
    have = {key_step(shape, element): element for element in live}
    ours = {key_step(shape, element): element for element in wanted}
    left, right = deque(have), deque(ours)
    shared = deque(step for step in ours if step in have)
    result: list[Any] = []
    while left or right:
        if left and left[0] not in ours:
            result.append(have[left.popleft()])
        elif left and right and left[0] != right[0] and shared and left[0] != shared[0]:
            left.popleft()  # its turn comes where the author has it
        elif right:
            step = right.popleft()
            merged = merge(shape.item, have[step], ours[step]) if step in have else None
            result.append(clone(ours[step]) if merged is None else merged)
            if shared and shared[0] == step:
                shared.popleft()
            if left and left[0] == step:
                left.popleft()
        else:
            left.popleft()
    return result


def remove(shape: Shape, value: Any, paths: Iterable[Path]) -> None:
    """Take these fields out, whole elements before what is in them; the emptied stays empty."""
    doomed: Doomed = {}
    for path in paths:
        here = doomed
        for step in path[:-1]:
            here = here.setdefault(step, {})
        here.setdefault(path[-1], {})[_ITSELF] = {}
    _remove_from(shape, value, doomed)


def _remove_from(shape: Shape | None, value: Any, doomed: Doomed) -> None:
    """Each list is looked through once: it may be as long as a client likes."""
    gone: list[int] = []
    places = _places(shape, value, doomed) if shape is not None else {}
    for step, inner in doomed.items():
        is_field = step.startswith("f:")
        place = step[2:] if is_field else places.get(step)
        if place is None or (is_field and not (isinstance(value, dict) and place in value)):
            continue
        if _ITSELF not in inner and shape is not None:
            below = child_shape(shape, step[2:]) if is_field else shape.item
            _remove_from(below, value[place], inner)
        elif _ITSELF in inner and is_field:
            del value[place]
        elif _ITSELF in inner:
            gone.append(places[step])
    for index in sorted(gone, reverse=True):
        del value[index]


def _places(shape: Shape, value: Any, steps: Iterable[str]) -> dict[str, int]:
    """Where in a list its elements are."""
    kinds = {step[:2] for step in steps}
    places: dict[str, int] = {}
    for index, element in enumerate(value if isinstance(value, list) else ()):
        if "k:" in kinds:
            places.setdefault(key_step(shape, element), index)
        if kinds - {"k:", "f:"}:
            places.setdefault(value_step(element), index)
    return places
