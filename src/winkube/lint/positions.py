"""Where a field is in the text: composed only for documents that have findings."""

import bisect
import re
from functools import cached_property
from typing import NamedTuple

import yaml

from winkube.lint.parsing import compose_document
from winkube.rules.model import Path


class Position(NamedTuple):
    """Line and column count from 1; ``text`` is the line, ``width`` how much of it is meant.

    Of a very long line ``text`` may be a part: ``before`` says how much of it is left out in front.
    """

    line: int
    column: int
    width: int
    text: str
    before: int = 0


class Positions:
    def __init__(self, text: str, first_line: int, first_column: int = 0) -> None:
        self._text = text
        self._first_line = first_line
        self._first_column = first_column

    @cached_property
    def root(self) -> yaml.Node | None:
        return compose_document(self._text)

    @cached_property
    def _line_ends(self) -> list[int]:
        ends = [found.start() for found in re.finditer("\n", self._text)]
        return [*ends, len(self._text)]

    def locate(self, path: Path) -> Position:
        """The place of a field, or of the nearest thing above it that is written down."""
        if self.root is None:
            return self._position(0, None)
        shown, value = self.root, self.root
        for step in path:
            found = entry(value, step)
            if found is None:
                break
            shown, value = found
        return self._position(shown.start_mark.index, value.end_mark.index)

    def _position(self, start: int, end: int | None) -> Position:
        # libyaml takes more characters for line ends than editors do: its lines are not ours.
        line = bisect.bisect_left(self._line_ends, start)
        line_start = self._line_ends[line - 1] + 1 if line else 0
        line_end = self._line_ends[line]
        text = self._text[line_start:line_end].rstrip()
        if end is None or end > line_end:
            end = line_start + len(text.partition(" #")[0].rstrip())
        column = start - line_start
        width = max(end - start, 1)
        before = 0 if line else self._first_column
        return Position(self._first_line + line + 1, before + column + 1, width, text, before)


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
