"""Repair a document's text in place, keeping comments and order.

Every repair is done twice: on the text and on the parsed value. It counts only if the new text
parses to the new value; otherwise the text stays as it was, and the finding is left to people.
"""

import copy
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import yaml

from winkube.lint.edits import Edit, Unsupported, edit_text
from winkube.lint.parsing import UnreadableError, compose_document, parse_document
from winkube.lint.reading import Document, parse_text
from winkube.rules.model import Fix, Path

_MOST_READ: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class Repair:
    """A fix for one place of one document of a file."""

    offset: int  # which document: where its text starts
    path: Path
    fix: Fix


def repair_text(text: str, repairs: Iterable[Repair]) -> tuple[str, int]:
    """The repaired text of a file and how many repairs it took; a second time changes nothing."""
    by_document: dict[int, list[Repair]] = {}
    for repair in repairs:
        by_document.setdefault(repair.offset, []).append(repair)
    parts, position, done = [], 0, 0
    for document in parse_text("", text):
        if isinstance(document, Document) and document.offset in by_document:
            new, count = _repair_document(document, by_document[document.offset])
            parts += [text[position : document.offset], new]
            position = document.offset + len(document.text)
            done += count
    return "".join([*parts, text[position:]]), done


def _repair_document(document: Document, repairs: list[Repair]) -> tuple[str, int]:
    text, value, done = document.text, document.value, 0
    # Every repair reads the document again: a list of thousands of objects gets the first ones.
    for repair in repairs[: max(_MOST_READ // max(len(text), 1), 1)]:
        root = compose_document(text)
        if root is None:
            break
        try:
            edits = _plan(value, repair)
            if not edits:
                continue
            wanted = _applied(value, edits)
            new = edit_text(text, root, edits)
            if parse_document(new) != wanted:
                continue
        except (Unsupported, UnreadableError, yaml.YAMLError):
            continue
        text, value, done = new, wanted, done + 1
    return text, done


def _plan(value: Any, repair: Repair) -> list[Edit]:
    """What a fix means here, in single steps; nothing if it is done already."""
    fix, path = repair.fix, repair.path
    if fix.do == "add":
        return _plan_add(value, path, fix.value)
    there, found = _get(value, path)
    if not there or not path:
        return []
    if fix.do == "remove":
        return [Edit("remove", _widest_removal(value, path))]
    if fix.do == "rename":
        beside = _get(value, path[:-1])[1]
        if not isinstance(beside, dict):
            raise Unsupported("an element of a list")
        return [] if fix.value in beside else [Edit("rename", path, fix.value)]
    wanted = fix.value
    if fix.do == "replace":
        if not isinstance(found, str):
            return []
        wanted = re.sub(fix.value["match"], fix.value["with"], found)
    return [] if wanted == found else [Edit("set", path, wanted)]


def _plan_add(value: Any, path: Path, addition: Any) -> list[Edit]:
    there, found = _get(value, path)
    if isinstance(addition, list):
        if isinstance(found, list) and found:
            return [Edit("append", path, item) for item in addition if item not in found]
        return [_create(value, path, addition)]
    if not there or not isinstance(found, dict) or not found:
        return [_create(value, path, addition)]
    edits = []
    for key, wanted in addition.items():
        if key not in found:
            edits.append(Edit("insert", (*path, key), wanted))
        elif found[key] != wanted:
            edits.append(Edit("set", (*path, key), wanted))
    return edits


def _create(value: Any, path: Path, addition: Any) -> Edit:
    """Write the first step that is missing, with everything below it."""
    there, found = _get(value, path)
    if there and found in (None, {}, []):
        return Edit("fill", path, addition)
    if there or not path:
        raise Unsupported("something else is there")
    above = _get(value, path[:-1])
    if above[0] and isinstance(above[1], dict) and above[1]:
        return Edit("insert", path, addition)
    return _create(value, path[:-1], {path[-1]: addition})


def _widest_removal(value: Any, path: Path) -> Path:
    """A map that would be left empty goes too, unless it is an element of a list."""
    while len(path) > 1 and isinstance(path[-2], str):
        if len(_get(value, path[:-1])[1]) > 1:
            return path
        path = path[:-1]
    if len(_get(value, path[:-1])[1]) == 1:
        raise Unsupported("the element would be empty")
    return path


def _get(value: Any, path: Path) -> tuple[bool, Any]:
    for step in path:
        has_key = isinstance(value, dict) and step in value
        has_item = isinstance(value, list) and isinstance(step, int) and step < len(value)
        if not has_key and not has_item:
            return False, None
        value = value[step]
    return True, value


def _applied(value: Any, edits: list[Edit]) -> Any:
    """The value after the edits; JSON in between takes shared anchors apart."""
    new = json.loads(json.dumps(value)) if _is_json(value) else copy.deepcopy(value)
    for edit in edits:
        above = _get(new, edit.path[:-1])[1]
        last: Any = edit.path[-1] if edit.path else None
        if edit.do == "remove":
            del above[last]
        elif edit.do == "rename":
            above[edit.value] = above.pop(last)
        elif edit.do == "append":
            above[last].append(edit.value)
        else:
            above[last] = edit.value
    return new


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)
