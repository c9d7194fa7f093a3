"""What applying a configuration makes of an object: merge what it says, remove what it left."""

from collections import deque
from collections.abc import Iterable
from typing import Any

from winkube.api.decode import clone
from winkube.api.schema import Shape
from winkube.apiserver.apply.element import (
    child_shape,
    find_element,
    is_associative,
    is_atomic,
    key_step,
    list_keys,
)
from winkube.apiserver.apply.tree import Path


def merge(shape: Shape | None, live: Any, wanted: Any) -> Any:
    """A new value: ``wanted`` wins where it says something."""
    if shape is None:
        return clone(wanted)
    merges = not is_atomic(shape) if isinstance(live, dict) else is_associative(shape)
    if wanted is None and merges:
        return clone(live)  # to say nothing of something is to leave it alone
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
            return [*live, *(entry for entry in wanted if entry not in live)]
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
    for path in sorted(paths, key=len):
        _remove_one(shape, value, path)


def _remove_one(shape: Shape | None, value: Any, path: Path) -> None:
    for step in path[:-1]:
        if shape is None:
            return
        if step.startswith("f:"):
            if not isinstance(value, dict) or step[2:] not in value:
                return
            value, shape = value[step[2:]], child_shape(shape, step[2:])
        else:
            index = find_element(shape, value, step)
            if index is None:
                return
            value, shape = value[index], shape.item
    last = path[-1]
    if last.startswith("f:") and isinstance(value, dict):
        value.pop(last[2:], None)
    elif shape is not None and isinstance(value, list):
        index = find_element(shape, value, last)
        if index is not None:
            del value[index]
