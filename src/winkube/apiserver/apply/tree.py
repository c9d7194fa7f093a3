"""Sets of fields as trees, in the very form managedFields has (FieldsV1).

A node without children is a member; a node with children is one when it has a ``.``. Trees are
values: no function changes its arguments, and results may share parts with them.
"""

from collections.abc import Iterator

from winkube.base.types import JsonObject

Tree = JsonObject
Path = tuple[str, ...]


def is_member(node: Tree) -> bool:
    return not node or "." in node


def union(one: Tree | None, other: Tree | None) -> Tree | None:
    """None is the empty set."""
    if one is None or other is None:
        return other if one is None else one
    if one is other or (not one and not other):
        return one
    made: Tree = {}
    for step in (*one, *(step for step in other if step not in one)):
        if step != ".":
            made[step] = union(one.get(step), other.get(step))
    if made and (is_member(one) or is_member(other)):
        made["."] = {}
    return made


def difference(one: Tree | None, other: Tree | None) -> Tree | None:
    if one is None or other is None:
        return one
    made: Tree = {}
    for step, child in one.items():
        if step != ".":
            left = difference(child, other.get(step))
            if left is not None:
                made[step] = left
    return _settled(made, member=is_member(one) and not is_member(other))


def intersection(one: Tree | None, other: Tree | None) -> Tree | None:
    if one is None or other is None:
        return None
    made: Tree = {}
    for step, child in one.items():
        if step != "." and step in other:
            both = intersection(child, other[step])
            if both is not None:
                made[step] = both
    return _settled(made, member=is_member(one) and is_member(other))


def without(tree: Tree | None, path: Path) -> Tree | None:
    """Without a path and everything below it."""
    if tree is None or path[0] not in tree:
        return tree
    made = dict(tree)
    rest = without(tree[path[0]], path[1:]) if len(path) > 1 else None
    if rest is None:
        del made[path[0]]
    else:
        made[path[0]] = rest
    return _settled({k: v for k, v in made.items() if k != "."}, member="." in made)


def _settled(made: Tree, *, member: bool) -> Tree | None:
    if not made:
        return {} if member else None
    if member:
        made["."] = {}
    return made


def reaches(tree: Tree | None, path: Path) -> bool:
    """Whether there are members at a path or below it."""
    for step in path:
        if tree is None or step not in tree:
            return False
        tree = tree[step]
    return True


def paths(tree: Tree | None, here: Path = ()) -> Iterator[Path]:
    """Every member, in the order of upstream's sets: first all at one place, then what is below."""
    if tree is None:
        return
    steps = sorted(step for step in tree if step != ".")
    for step in steps:
        if is_member(tree[step]):
            yield (*here, step)
    for step in steps:
        yield from paths(tree[step], (*here, step))
