"""A large List, item by item: what ``kubectl get -o yaml`` or ``-o json`` prints for many objects.

Read as one document, such a List needs some sixty times its size in memory, and every place or
repair in it reads all of it again. Its items are found in the text instead, and each is read as a
document of its own. A List in another form than those programs write is left whole.
"""

import re
from collections.abc import Iterator
from typing import Final

from winkube.lint.parsing import ALIAS, UnreadableError, parse_document

LARGE: Final = 1 << 18
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_JSON_ITEMS: Final = re.compile(r"\s*:\s*\[")
_YAML_ITEMS: Final = re.compile(
    r"^items:[ \t]*\r?\n(?:[ \t]*(?:#.*)?\r?\n)*(?=( *)- )", re.MULTILINE
)
_YAML_KEY: Final = re.compile(r"^[A-Za-z]", re.MULTILINE)
_ANCHOR: Final = re.compile(r"(?:^|[\s\[{,:-])&[\w-]", re.MULTILINE)


def find_items(text: str) -> list[tuple[int, int]] | None:
    """Where the items of a large List are; None if this is not one."""
    if len(text) < LARGE:
        return None
    return _in_json(text) if text.lstrip()[:1] == "{" else _in_yaml(text)


def _is_list(rest: str) -> bool:
    """Whether a document without its items is an empty List."""
    try:
        value = parse_document(rest)
    except UnreadableError:
        return False
    return isinstance(value, dict) and value.get("kind") == "List" and not value.get("items")


def _in_yaml(text: str) -> list[tuple[int, int]] | None:
    found = _YAML_ITEMS.search(text)
    if found is None or (_ANCHOR.search(text) and ALIAS.search(text)):
        return None
    behind = _YAML_KEY.search(text, found.end())
    end = behind.start() if behind else len(text)
    if not _is_list(text[: found.start()] + text[end:]):
        return None
    dash = re.compile(rf"^ {{{len(found[1])}}}-[ ]", re.MULTILINE)
    starts = [each.start() for each in dash.finditer(text, found.end(), end)]
    return list(zip(starts, [*starts[1:], end], strict=True))


def _in_json(text: str) -> list[tuple[int, int]] | None:
    found = _find_json_items(text)
    if found is None:
        return None
    places: list[tuple[int, int]] = []
    start = found + 1
    for depth, sign, place in _signs(text, found):
        if depth == 0:
            rest = text[: found + 1] + text[place:]
            return places if _is_list(rest) else None
        if depth == 1:
            if sign in "{[":
                start = place
            else:
                places.append((start, place + 1))
    return None  # it does not end


def _find_json_items(text: str) -> int | None:
    """Where the list of the key "items" of the outermost map opens."""
    depth = 0
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in "{[":
            depth += 1
        elif sign in "}]":
            depth -= 1
        elif depth == 1 and sign == '"items"':
            opening = _JSON_ITEMS.match(text, token.end())
            if opening:
                return opening.end() - 1
    return None


def _signs(text: str, start: int) -> Iterator[tuple[int, str, int]]:
    """Brackets from an opening one on, each with how deep what it opens or closes lies in it.

    Strings are passed over as a whole, so that brackets in them do not count.
    """
    depth = -1
    for token in _TOKEN.finditer(text, start):
        sign = token[0]
        if sign in "{[":
            depth += 1
            if depth:
                yield depth, sign, token.start()
        elif sign in "}]":
            yield depth, sign, token.start()
            depth -= 1
