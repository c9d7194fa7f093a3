"""Strategic merge patch: a merge patch that knows which lists are maps by another name.

Theory of operation: maps merge key by key, null deletes. A list whose schema says ``merge`` is
merged by its merge key (or as a set when its items are plain values); any other list is replaced.
Directives steer this: ``$patch: replace|delete|merge`` in a map or in a list's element,
``$retainKeys`` in a map, ``$deleteFromPrimitiveList/<field>`` and ``$setElementOrder/<field>``
beside a list (apimachinery: pkg/util/strategicpatch).
"""

from collections.abc import Callable
from typing import Any, Final

from winkube.api.decode import clone
from winkube.api.errors import BadRequestError, UnexplainedError
from winkube.api.go_text import printed
from winkube.api.kinds import Kind
from winkube.api.schema import Definition, Schema, Shape, Type
from winkube.base.types import JsonObject

_PATCH: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_DELETE: Final = "$deleteFromPrimitiveList/"
_ORDER: Final = "$setElementOrder/"


def strategic_merge(schema: Schema, kind: Kind, doc: JsonObject, patch: JsonObject) -> JsonObject:
    definition = schema.for_kind(kind.gvk)
    if not isinstance(patch, dict):
        raise BadRequestError("error decoding patch: a strategic merge patch is an object")
    return _merge_map(clone(doc), patch, definition)


def _merge_map(target: JsonObject, patch: JsonObject, definition: Definition | None) -> JsonObject:
    directive = patch.get(_PATCH)
    if directive == "replace":
        return _plain({key: value for key, value in patch.items() if key != _PATCH}, definition)
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise UnexplainedError(f"unknown patch type: {directive} in map: {printed(patch)}")
    if _RETAIN in patch:
        _retain(target, patch)
    orders = _directed(patch, _ORDER)
    original = {key: list(target[key]) for key in target if isinstance(target[key], list)}
    for key, value in patch.items():
        if not key.startswith("$"):
            _merge_key(target, key, value, definition)
        elif not key.startswith((_PATCH, _RETAIN, _DELETE, _ORDER)):
            target[key] = clone(value)
    _delete_primitives(target, _directed(patch, _DELETE))
    for key in _ordered_keys(target, patch, orders):
        shape = _property(definition, key)
        if shape is not None and "merge" in shape.strategies:
            before = original.get(key, [])
            target[key] = _reorder(target[key], patch.get(key), orders.get(key), before, shape)
    return target


def _ordered_keys(target: JsonObject, patch: JsonObject, orders: dict[str, list[Any]]) -> list[str]:
    keys = [*orders, *(key for key in patch if isinstance(patch[key], list) and key not in orders)]
    return [key for key in keys if isinstance(target.get(key), list)]


def _merge_key(target: JsonObject, key: str, value: Any, definition: Definition | None) -> None:
    if value is None:
        target.pop(key, None)
        return
    shape, have = _property(definition, key), target.get(key)
    replaced = shape is not None and "replace" in shape.strategies
    if isinstance(value, dict) and isinstance(have, dict) and not replaced:
        target[key] = _merge_map(have, value, shape.definition if shape else None)
    elif isinstance(value, list) and isinstance(have, list):
        target[key] = _merge_list(have, value, shape, key)
    else:
        _take(target, key, value)


def _take(target: JsonObject, key: str, value: Any) -> None:
    """What has nothing to be merged with is taken as it is, less nulls and directives."""
    if isinstance(value, dict) and _PATCH in value:
        target.pop(key, None)
    else:
        target[key] = _without_directives(value)


def _without_directives(value: Any) -> Any:
    if isinstance(value, dict):
        made: JsonObject = {}
        for key, child in value.items():
            if child is not None and not key.startswith("$"):
                _take(made, key, child)
        return made
    if isinstance(value, list):
        kept = [child for child in value if not (isinstance(child, dict) and _PATCH in child)]
        return [_without_directives(child) for child in kept]
    return value


def _plain(patch: JsonObject, definition: Definition | None) -> JsonObject:
    """What a patch says on its own: directives applied to nothing, nulls gone."""
    return _merge_map({}, patch, definition)


def _property(definition: Definition | None, key: str) -> Shape | None:
    return definition.properties.get(key) if definition is not None else None


def _directed(patch: JsonObject, prefix: str) -> dict[str, list[Any]]:
    found = {}
    for key, value in patch.items():
        if key.startswith(prefix):
            if not isinstance(value, list):
                raise BadRequestError(f"{key} must be a list")
            found[key.removeprefix(prefix)] = value
    return found


def _retain(target: JsonObject, patch: JsonObject) -> None:
    keys = patch[_RETAIN]
    if not isinstance(keys, list):
        raise BadRequestError("$retainKeys must be a list of strings")
    named = [key for key in patch if not key.startswith("$") and patch[key] is not None]
    if not set(named) <= set(keys):
        raise BadRequestError("$retainKeys must contain every key of the patch it is in")
    for key in [key for key in target if key not in keys]:
        del target[key]


def _delete_primitives(target: JsonObject, deletions: dict[str, list[Any]]) -> None:
    for key, doomed in deletions.items():
        have = target.get(key)
        if isinstance(have, list):
            target[key] = [item for item in have if item not in doomed]


def _merge_list(have: list[Any], patch: list[Any], shape: Shape | None, key: str) -> list[Any]:
    item = shape.item if shape is not None else None
    definition = item.definition if item is not None else None
    if shape is None or "merge" not in shape.strategies:
        return [_element(value, definition) for value in patch]
    if item is None or item.type is not Type.OBJECT:
        return have + [value for value in _unique(patch) if value not in have]
    merge_key = shape.merge_key
    if not merge_key:
        return [_element(value, definition) for value in patch]
    return _merge_elements(have, patch, merge_key, definition, key)


def _unique(values: list[Any]) -> list[Any]:
    seen: list[Any] = []
    for value in values:
        if value is not None and value not in seen:
            seen.append(value)
    return seen


def _element(value: Any, definition: Definition | None) -> Any:
    return _plain(value, definition) if isinstance(value, dict) else clone(value)


def _merge_elements(
    have: list[Any], patch: list[Any], merge_key: str, definition: Definition | None, field: str
) -> list[Any]:
    _check_elements(patch, merge_key, field)
    if any(value.get(_PATCH) == "replace" for value in patch):
        rest = [value for value in patch if value.get(_PATCH) not in ("replace", "delete")]
        return [_plain(value, definition) for value in rest]
    doomed = [value[merge_key] for value in patch if value.get(_PATCH) == "delete"]
    result = [item for item in have if _key_of(item, merge_key) not in doomed]
    for value in patch:
        if value.get(_PATCH) == "delete":
            continue
        index = _find(result, merge_key, value[merge_key])
        if index is None:
            result.append(_plain(value, definition))
        else:
            result[index] = _merge_map(result[index], value, definition)
    return result


def _check_elements(patch: list[Any], merge_key: str, field: str) -> None:
    for value in patch:
        if not isinstance(value, dict):
            raise BadRequestError(f"{field}: expected a list of objects in the patch")
        if merge_key not in value and value.get(_PATCH) != "replace":
            raise UnexplainedError(
                f"map: {printed(value)} does not contain declared merge key: {merge_key}"
            )


def _key_of(item: Any, merge_key: str) -> Any:
    return item.get(merge_key) if isinstance(item, dict) else None


def _find(items: list[Any], merge_key: str, value: Any) -> int | None:
    return next(
        (index for index, item in enumerate(items) if _key_of(item, merge_key) == value), None
    )


def _reorder(
    items: list[Any], patched: Any, order: list[Any] | None, before: list[Any], shape: Shape
) -> list[Any]:
    """Put what the author listed in the author's order; the rest keeps its neighbours."""
    merge_key = shape.merge_key
    present = [_identity(item, merge_key) for item in patched or () if not _is_deletion(item)]
    wanted = present
    if order is not None:
        wanted = [_identity(entry, merge_key) for entry in order]
        _check_order(present, wanted)
    listed = [item for item in items if _identity(item, merge_key) in wanted]
    listed.sort(key=lambda item: wanted.index(_identity(item, merge_key)))
    others = [item for item in items if _identity(item, merge_key) not in wanted]
    server = _server_order(items, before, merge_key, ordered=order is not None)

    def comes_first(one: Any, other: Any) -> bool:
        """What the server did not have before goes ahead of what it did."""
        left, right = _identity(one, merge_key), _identity(other, merge_key)
        known = left in server and right in server
        return not known or server.index(left) < server.index(right)

    return _interleave(listed, others, comes_first)


def _server_order(
    items: list[Any], before: list[Any], merge_key: str | None, *, ordered: bool
) -> list[Any]:
    """The order to keep neighbours by: the list as it was, less what the patch deleted.

    Upstream deletes in place, so that with an order given, elements that are new move into the
    room the deleted ones leave, and count as known there. Clients see it; we do the same.
    """
    was = [_identity(item, merge_key) for item in before]
    now = [_identity(item, merge_key) for item in items]
    return now[: len(was)] if ordered else [item for item in was if item in now]


def _check_order(present: list[Any], wanted: list[Any]) -> None:
    places = [wanted.index(item) for item in present if item in wanted]
    if len(places) != len(present) or places != sorted(places):
        raise BadRequestError(
            f"the order in patch list {present} doesn't match $setElementOrder list {wanted}"
        )


def _is_deletion(item: Any) -> bool:
    return isinstance(item, dict) and item.get(_PATCH) in ("delete", "replace")


def _identity(item: Any, merge_key: str | None) -> Any:
    return item.get(merge_key) if isinstance(item, dict) and merge_key else item


def _interleave(
    listed: list[Any], others: list[Any], comes_first: Callable[[Any, Any], bool]
) -> list[Any]:
    merged = []
    left, right = 0, 0
    while left < len(listed) and right < len(others):
        if comes_first(listed[left], others[right]):
            merged.append(listed[left])
            left += 1
        else:
            merged.append(others[right])
            right += 1
    return merged + listed[left:] + others[right:]
