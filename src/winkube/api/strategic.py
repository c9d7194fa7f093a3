"""Strategic merge patch: a merge patch that knows which lists are maps by another name.

Theory of operation: maps merge key by key, null deletes. A list whose schema says ``merge`` is
merged by its merge key (or as a set when its items are plain values); any other list is replaced.
Directives steer this: ``$patch: replace|delete|merge`` in a map or in a list's element,
``$retainKeys`` in a map, ``$deleteFromPrimitiveList/<field>`` and ``$setElementOrder/<field>``
beside a list (apimachinery: pkg/util/strategicpatch).
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, cast

from winkube.api.decode import clone
from winkube.api.errors import ApiError, BadRequestError, UnexplainedError
from winkube.api.go.text import printed
from winkube.api.kinds import Kind
from winkube.api.schema import Definition, Schema, Shape
from winkube.base.types import JsonObject

_PATCH: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_DELETE: Final = "$deleteFromPrimitiveList/"
_ORDER: Final = "$setElementOrder/"
_BAD_RETAIN: Final = "invalid patch format of retainKeys"


def strategic_merge(schema: Schema, kind: Kind, doc: JsonObject, patch: JsonObject) -> JsonObject:
    """The document with the change; itself it is of no use any more."""
    definition = schema.for_kind(kind.gvk)
    if not isinstance(patch, dict):
        raise BadRequestError("error decoding patch: a strategic merge patch is an object")
    return _merge_map(doc, patch, definition)


def _merge_map(target: JsonObject, patch: JsonObject, definition: Definition | None) -> JsonObject:
    if _PATCH in patch:
        return _directed_map(patch)
    if _RETAIN in patch:
        _retain(target, patch)
    orders = _directed(patch, _ORDER)
    original = {key: list(target[key]) for key in target if isinstance(target[key], list)}
    for key, value in patch.items():
        if key[:1] != "$":
            _merge_key(target, key, value, definition)
        elif not key.startswith((_PATCH, _RETAIN, _DELETE, _ORDER)):
            target[key] = clone(value)
    _delete_primitives(target, _directed(patch, _DELETE))
    merged = (key for key in patch if isinstance(patch[key], list) and key in original)
    for key in dict.fromkeys((*orders, *merged)):
        shape = _property(definition, key)
        if isinstance(target.get(key), list) and shape is not None and "merge" in shape.strategies:
            before = original.get(key, [])
            target[key] = _reorder(target[key], patch.get(key), orders.get(key), before, shape)
    return target


def _directed_map(patch: JsonObject) -> JsonObject:
    directive = patch[_PATCH]
    if directive == "replace":
        return {key: clone(value) for key, value in patch.items() if key != _PATCH}
    if directive == "delete":
        return {}
    raise UnexplainedError(f"unknown patch type: {_named(directive)} in map: {printed(patch)}")


def _named(directive: Any) -> str:
    """As ``%s`` shows what may be no text."""
    if isinstance(directive, str):
        return directive
    return f"%!s({_go_type(directive)}={printed(directive)})"


_GO_TYPES: Final = {
    dict: "map[string]interface {}", list: "[]interface {}", str: "string", bool: "bool",
    int: "int64", float: "float64", type(None): "<nil>",
}  # fmt: skip


def _go_type(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return "float64"
    return _GO_TYPES[type(value)]


def _merge_key(target: JsonObject, key: str, value: Any, definition: Definition | None) -> None:
    if value is None:
        target.pop(key, None)
        return
    shape, have = _property(definition, key), target.get(key)
    replaced = shape is not None and "replace" in shape.strategies
    if isinstance(value, dict) and isinstance(have, dict):
        inner = shape.definition if shape else None
        target[key] = clone(value) if replaced else _merge_map(have, value, inner)
    elif isinstance(value, list) and isinstance(have, list):
        target[key] = _merge_list(have, value, shape)
    else:
        _take(target, key, value)


def _take(target: JsonObject, key: str, value: Any) -> None:
    """What has nothing to be merged with is taken, less nulls and what is to be deleted."""
    if isinstance(value, dict) and _PATCH in value:
        target.pop(key, None)
    else:
        target[key] = _without_directives(value)


def _without_directives(value: Any) -> Any:
    if type(value) is dict:
        made: JsonObject = {}
        for key, child in value.items():
            if type(child) is dict:
                _take(made, key, child)
            elif child is not None:
                made[key] = _without_directives(child) if type(child) is list else child
        return made
    if type(value) is list:
        kept = [child for child in value if not (isinstance(child, dict) and _PATCH in child)]
        return [_without_directives(child) for child in kept]
    return value


def _property(definition: Definition | None, key: str) -> Shape | None:
    return definition.properties.get(key) if definition is not None else None


def _directed(patch: JsonObject, prefix: str) -> dict[str, list[Any]]:
    found = {}
    for key, value in patch.items():
        if key[:1] == "$" and key.startswith(prefix):
            if not isinstance(value, list):
                raise UnexplainedError(
                    f"expected a {_GO_TYPES[list]}, but received a {_go_type(value)}"
                )
            found[key.removeprefix(prefix)] = value
    return found


def _retain(target: JsonObject, patch: JsonObject) -> None:
    keys = patch[_RETAIN]
    if not isinstance(keys, list):
        raise BadRequestError(_BAD_RETAIN)
    beside = (_RETAIN, _DELETE, _ORDER)
    named = [key for key in patch if not key.startswith(beside) and patch[key] is not None]
    retained = _places(keys)
    if any(key not in retained for key in named):
        raise BadRequestError(_BAD_RETAIN)
    for key in [key for key in target if key not in retained]:
        del target[key]


def _delete_primitives(target: JsonObject, deletions: dict[str, list[Any]]) -> None:
    for key, doomed in deletions.items():
        have = target.get(key)
        if isinstance(have, list):
            gone = _places(doomed)
            target[key] = [item for item in have if _mark(item) not in gone]


def _merge_list(have: list[Any], patch: list[Any], shape: Shape | None) -> list[Any]:
    if shape is None or "merge" not in shape.strategies:
        return cast("list[Any]", clone(patch))
    if not have and not patch:
        return have
    _check_alike(have, patch)
    if not isinstance((*have, *patch)[0], dict):
        there = _places(have)
        return have + [value for value in _unique(patch) if _mark(value) not in there]
    if not shape.merge_key:
        raise UnexplainedError("cannot merge lists without merge key for struct")
    definition = shape.item.definition if shape.item is not None else None
    return _merge_elements(have, patch, shape.merge_key, definition)


def _check_alike(have: list[Any], patch: list[Any]) -> None:
    """The elements of both are of one type, and are no lists."""
    kinds = [_go_type(value) for value in (*have, *patch)]
    if kinds[0] == _GO_TYPES[list]:
        raise ListOfListsError("lists of lists are not supported")
    if any(kind != kinds[0] for kind in kinds):
        raise UnexplainedError(f"list element types are not identical: {printed([have, patch])}")


class ListOfListsError(ApiError):
    code, reason = 422, ""


def _unique(values: list[Any]) -> list[Any]:
    places = _places(values)
    return [
        value
        for index, value in enumerate(values)
        if value is not None and places[_mark(value)] == index
    ]


def _merge_elements(
    have: list[Any], patch: list[Any], merge_key: str, definition: Definition | None
) -> list[Any]:
    result, wanted = _sorted_out(have, patch, merge_key)
    found = _places(_key_of(item, merge_key) for item in result)
    for value in wanted:
        if merge_key not in value:
            raise _no_key(value, merge_key)
        index = found.setdefault(_mark(value[merge_key]), len(result))
        if index == len(result):
            result.append(clone(value))
        else:
            result[index] = _merge_map(result[index], value, definition)
    for item in result:
        if merge_key not in item:
            raise _no_key(item, merge_key)
    return result


def _sorted_out(
    have: list[Any], patch: list[Any], merge_key: str
) -> tuple[list[Any], list[JsonObject]]:
    """What is left of the list after the patch's directives, and the rest of the patch."""
    doomed, wanted, replaces = list[Any](), list[JsonObject](), False
    for value in patch:
        if _PATCH not in value:
            wanted.append(value)
        elif value[_PATCH] == "delete":
            if merge_key not in value:
                raise _no_key(value, merge_key)
            doomed.append(value[merge_key])
        elif value[_PATCH] == "merge":
            raise UnexplainedError("merging lists cannot yet be specified in the patch")
        elif value[_PATCH] != "replace":
            text = f"unknown patch type: {_named(value[_PATCH])} in map: {printed(value)}"
            raise UnexplainedError(text)
        else:
            replaces = True
    if replaces:
        return clone(wanted), []
    gone = _places(doomed)
    return [item for item in have if _mark(_key_of(item, merge_key)) not in gone], wanted


def _no_key(value: JsonObject, merge_key: str) -> UnexplainedError:
    return UnexplainedError(
        f"map: {printed(value)} does not contain declared merge key: {merge_key}"
    )


def _key_of(item: Any, merge_key: str) -> Any:
    return item.get(merge_key) if isinstance(item, dict) else None


def _mark(value: Any) -> Any:
    """Something hashable that is equal where the values are."""
    if isinstance(value, dict):
        return ("{}", frozenset((key, _mark(child)) for key, child in value.items()))
    return ("[]", tuple(map(_mark, value))) if isinstance(value, list) else value


def _places(values: Iterable[Any]) -> dict[Any, int]:
    """Where each of the values is found first: lists may be as long as a client likes."""
    places: dict[Any, int] = {}
    for index, value in enumerate(values):
        places.setdefault(_mark(value), index)
    return places


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
    places = _places(wanted)

    def mark(item: Any) -> Any:
        return _mark(_identity(item, merge_key))

    listed = [item for item in items if mark(item) in places]
    listed.sort(key=lambda item: places[mark(item)])
    if len(listed) == len(items):
        return listed
    others = [item for item in items if mark(item) not in places]
    server = _places(_server_order(items, before, merge_key, ordered=order is not None))

    def comes_first(one: Any, other: Any) -> bool:
        """What the server did not have before goes ahead of what it did."""
        left, right = server.get(mark(one)), server.get(mark(other))
        return left is None or right is None or left < right

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
    if ordered:
        return now[: len(was)]
    there = _places(now)
    return [item for item in was if _mark(item) in there]


def _check_order(present: list[Any], wanted: list[Any]) -> None:
    found = _places(wanted)
    places = [found[_mark(item)] for item in present if _mark(item) in found]
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
