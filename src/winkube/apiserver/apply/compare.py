"""Which fields two states of an object differ in, as trees."""

from typing import Any, Final

from winkube.api.schema import Shape
from winkube.apiserver.apply.element import child_shape, is_atomic, key_step, list_keys, value_step
from winkube.apiserver.apply.tree import Tree

_ABSENT: Any = ...
_TREES: Final = (dict, list)  # every other value is a leaf
Found = tuple[Tree | None, Tree | None]  # set or changed; removed


def compare(shape: Shape | None, old: Any, new: Any) -> Found:
    """``...`` stands for what is not there."""
    if old is _ABSENT:
        return _all(shape, new), None
    if new is _ABSENT:
        return None, _all(shape, old)
    if shape is None or not (old or new):
        return (None, None) if old == new else ({}, None)
    if _is_tree(old) and _is_tree(new) and (old or new) and not is_atomic(shape):
        return _compare_maps(shape, old or {}, new or {})
    before, after = _by_step(shape, old), _by_step(shape, new)
    if before is None or after is None:
        return (None, None) if old == new else ({}, None)
    inner = shape.item if list_keys(shape) else None
    return _joined(
        (step, _compare_elements(inner, before.get(step, []), after.get(step, [])))
        for step in (*after, *(step for step in before if step not in after))
    )


def _is_tree(value: Any) -> bool:
    """Where there is a map on the other side, null is one without keys."""
    return value is None or type(value) is dict


def _compare_elements(shape: Shape | None, old: list[Any], new: list[Any]) -> Found:
    """Of one key; several of them are looked at as one."""
    if len(old) <= 1 and len(new) <= 1:
        return compare(shape, old[0] if old else _ABSENT, new[0] if new else _ABSENT)
    if len(old) > 1 and len(new) > 1:
        return (None, None) if old == new else ({}, None)
    if len(old) > 1:
        return (_all(shape, new[0]) if new else None), {}
    return {}, (_all(shape, old[0]) if old else None)


def _compare_maps(shape: Shape, old: Any, new: Any) -> Found:
    return _joined(
        (
            f"f:{key}",
            compare(child_shape(shape, key), old.get(key, _ABSENT), new.get(key, _ABSENT)),
        )
        for key in (*new, *(key for key in old if key not in new))
        if key not in new or key not in old or old[key] != new[key]
    )


def _joined(parts: Any) -> Found:
    changed: Tree = {}
    removed: Tree = {}
    for step, (more, less) in parts:
        if more is not None:
            changed[step] = more
        if less is not None:
            removed[step] = less
    return changed or None, removed or None


def _by_step(shape: Shape, value: Any) -> dict[str, list[Any]] | None:
    """The elements of a list that is merged; None for everything else."""
    if shape.list_type not in ("map", "set") or (value is not None and type(value) is not list):
        return None
    if value is None:
        return {}
    keyed, found = bool(list_keys(shape)), dict[str, list[Any]]()
    for element in value:
        step = key_step(shape, element) if keyed else value_step(element)
        found.setdefault(step, []).append(element)
    return found


def _all(shape: Shape | None, value: Any) -> Tree:
    """Everything that came (or went) with a value, the value itself included."""
    if shape is None or not value:
        return {}
    made: Tree
    if type(value) is dict:
        if is_atomic(shape):
            return {}
        made = {
            f"f:{key}": _all(child_shape(shape, key), child) if type(child) in _TREES else {}
            for key, child in value.items()
        }
    elif type(value) is list and list_keys(shape):
        made = {}
        for element in value:
            step = key_step(shape, element)
            made[step] = {} if step in made else _all(shape.item, element)
    elif type(value) is list and shape.list_type == "set":
        made = {value_step(element): {} for element in value}
    else:
        return {}
    made["."] = {}
    return made


def stated(shape: Shape | None, value: Any) -> Tree | None:
    """What a configuration speaks about: leaves, keys of maps, elements of lists."""
    if shape is None or value is None:
        return {}
    if type(value) is dict and not is_atomic(shape):
        struct = shape.definition.properties if shape.definition is not None else {}
        made: Tree = {}
        for key, child in value.items():
            inner = stated(child_shape(shape, key), child)
            if key not in struct:
                inner = {**inner, ".": {}} if inner else {}
            if inner is not None:  # a list of nothing is nobody's
                made[f"f:{key}"] = inner
        return made if made or not value else None
    if type(value) is list and list_keys(shape):
        return {key_step(shape, item): _element(shape.item, item) for item in value} or None
    if type(value) is list and shape.list_type == "set":
        return {value_step(item): {} for item in value} or None
    return {}


def _element(shape: Shape | None, item: Any) -> Tree:
    inner = stated(shape, item) or {}
    if inner:
        inner["."] = {}
    return inner
