"""Where a field is in the text: composed only for documents that have findings."""

from functools import cached_property
from typing import NamedTuple

import yaml

from winkube.lint.parsing import compose_document
from winkube.rules.model import Path


class Position(NamedTuple):
    """Line and column count from 1; ``text`` is the line, ``width`` how much of it is meant."""

    line: int
    column: int
    width: int
    text: str


class Positions:
    def __init__(self, text: str, first_line: int) -> None:
        self._text = text
        self._first_line = first_line

    @cached_property
    def root(self) -> yaml.Node | None:
        return compose_document(self._text)

    @cached_property
    def _lines(self) -> list[str]:
        return self._text.split("\n")

    def locate(self, path: Path) -> Position:
        """The place of a field, or of the nearest thing above it that is written down."""
        node = self.root
        if node is None:
            return self._position(0, 0, None)
        shown, value = node, node
        for step in path:
            found = entry(value, step)
            if found is None:
                break
            shown, value = found
        end = value.end_mark if shown is not value else None
        if end is not None and end.line != shown.start_mark.line:
            end = shown.end_mark
        if shown is node:
            return self._position(node.start_mark.line, node.start_mark.column, None)
        mark = shown.start_mark
        if shown is value and end is None and isinstance(value, yaml.ScalarNode):
            end = value.end_mark
        return self._position(mark.line, mark.column, end)

    def _position(self, line: int, column: int, end: yaml.Mark | None) -> Position:
        text = self._lines[line].rstrip("\r") if line < len(self._lines) else ""
        if end is None or end.line != line:
            width = max(len(text.rstrip()) - column, 1)
        else:
            width = max(end.column - column, 1)
        return Position(self._first_line + line + 1, column + 1, width, text)


def entry(node: yaml.Node, step: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    """What a step leads to: the node to show (a key, or an element) and the value."""
    if isinstance(node, yaml.SequenceNode):
        if isinstance(step, int) and step < len(node.value):
            return node.value[step], node.value[step]
        return None
    if isinstance(node, yaml.MappingNode):
        # Of a key written twice the last counts.
        for key, value in reversed(node.value):
            if isinstance(key, yaml.ScalarNode) and key.value == str(step):
                return key, value
    return None
