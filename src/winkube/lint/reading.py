"""Read manifests: split files into documents, documents into objects.

What cannot be read becomes a Problem with its file and line, and reading goes on behind it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

from winkube.base.types import JsonObject
from winkube.lint.listing import find_items
from winkube.lint.parsing import UnreadableError, parse_with_repeated
from winkube.lint.positions import Positions
from winkube.rules.model import Path

MAX_FILE: Final = 64 << 20
MAX_DOCUMENT: Final = 16 << 20
# Both markers end a document wherever they stand at the start of a line, also inside a block text.
_MARKER: Final = re.compile(r"^(?:---|\.\.\.)(?=[ \t\r\n]|\Z)", re.MULTILINE)
_NOTHING: Final = re.compile(r"(?:[ \t]*(?:#.*)?(?:\r?\n|\Z)|%.*(?:\r?\n|\Z))*")
_BOMS: Final = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"), (b"\xef\xbb\xbf", "utf-8"))
_SURROGATE: Final = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be read; line and column count from 1, 0 is the whole file."""

    source: str
    message: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}:{self.column}" if self.line else self.source
        return f"{place}: {self.message}"


@dataclass(frozen=True)
class Document:
    """One document of a file, or one item of a large List in it.

    ``first_line`` and ``first_column`` are where it starts, counted from 0.
    """

    source: str
    text: str
    first_line: int
    value: Any
    offset: int = 0  # where its text starts in the file's text
    first_column: int = 0

    @cached_property
    def positions(self) -> Positions:
        return Positions(self.text, self.first_line, self.first_column)

    def objects(self) -> Iterator[tuple[Path, JsonObject]]:
        """The Kubernetes objects in it, and where: Lists are opened."""
        yield from _objects(self.value, ())


def parse_file(source: str, data: bytes) -> Iterator[Document | Problem]:
    """The documents of a file."""
    if len(data) > MAX_FILE:
        yield too_large(source, len(data))
        return
    text, problem = _decode(source, data)
    if problem is not None:
        yield problem
    if text is not None:
        yield from parse_text(source, text)


def too_large(source: str, size: int) -> Problem:
    limit = MAX_FILE >> 20
    return Problem(source, f"{size >> 20} MiB is too large to check (the limit is {limit} MiB)")


def parse_text(source: str, text: str) -> Iterator[Document | Problem]:
    for offset, first_line, part in _split(text):
        if _SURROGATE.search(part):
            continue  # told already
        items = find_items(part)
        if items is None:
            yield from _parse_part(source, _Part(offset, first_line, part))
            continue
        line, line_start, behind = first_line, 0, 0
        for start, end in items:
            line += part.count("\n", behind, start)
            line_start = part.rfind("\n", behind, start) + 1 or line_start
            behind = start
            item = _Part(offset + start, line, part[start:end], start - line_start)
            yield from _parse_part(source, item)


class _Part(NamedTuple):
    offset: int
    line: int
    text: str
    column: int = 0


def _parse_part(source: str, part: _Part) -> Iterator[Document | Problem]:
    if len(part.text) > MAX_DOCUMENT:
        limit = MAX_DOCUMENT >> 20
        message = f"a document of {len(part.text) >> 20} MiB (the limit is {limit} MiB)"
        yield Problem(source, message, part.line + 1, 1)
        return
    try:
        value, repeated = parse_with_repeated(part.text)
    except UnreadableError as error:
        yield _problem(source, part, error)
        return
    if repeated is not None:
        message = f"the key {repeated.key!r} is there twice; the last one was checked"
        yield _problem(source, part, UnreadableError(message, repeated.line, repeated.column))
    yield Document(source, part.text, part.line, value, part.offset, part.column)


def _problem(source: str, part: _Part, error: UnreadableError) -> Problem:
    column = error.column + 1 + (0 if error.line else part.column)
    return Problem(source, error.message, part.line + error.line + 1, column)


def _split(text: str) -> Iterator[tuple[int, int, str]]:
    """(offset, first line, text) of every document that is not empty."""
    start, line = 0, 0
    ends = [found.start() for found in _MARKER.finditer(text)]
    for end in [*ends, len(text)]:
        part = text[start:end]
        lines = part.count("\n")
        if part.startswith("..."):
            first = part.find("\n") + 1 or len(part)
            start, part, line, lines = start + first, part[first:], line + 1, lines - 1
        content = part.removeprefix("---")
        found = _NOTHING.match(content)
        if found is None or found.end() < len(content):
            yield start, line, part
        start, line = end, line + lines


def _decode(source: str, data: bytes) -> tuple[str | None, Problem | None]:
    for bom, coding in _BOMS:
        if data.startswith(bom):
            data = data[len(bom) :]
            if coding != "utf-8":
                return data.decode(coding, errors="replace"), None
            break
    if b"\0" in data:
        return None, Problem(source, "a binary file, not a manifest")
    try:
        return data.decode(), None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        problem = Problem(source, f"not UTF-8: byte 0x{data[error.start]:02x}", line, column)
        return data.decode(errors="surrogateescape"), problem


def _objects(value: Any, at: Path) -> Iterator[tuple[Path, JsonObject]]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, dict) and "apiVersion" in item:
                yield from _objects(item, (*at, index))
        return
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        return
    items, kind = value.get("items"), value["kind"]
    if not kind.endswith("List") or not isinstance(items, list):
        if isinstance(value.get("apiVersion"), str):
            yield at, value
        return
    for index, item in enumerate(items):
        if isinstance(item, dict):
            # A typed list (PodList) says once what its items are.
            own = {"apiVersion": value.get("apiVersion"), "kind": kind[:-4], **item}
            yield from _objects(own if kind != "List" else item, (*at, "items", index))
