"""Single edits of YAML text: the smallest change of characters that does the step."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from winkube.lint.parsing import compose_document
from winkube.lint.positions import entry
from winkube.rules.model import Path

_INDENT = 2


class Unsupported(Exception):  # noqa: N818 - an outcome, not a failure
    """A form of YAML that this edit leaves alone."""


@dataclass(frozen=True, slots=True)
class Edit:
    """``remove``, ``rename``, ``set``, ``insert`` a key, ``fill`` an empty value, ``append``."""

    do: str
    path: Path
    value: Any = None


def edit_text(text: str, root: yaml.Node, edits: Sequence[Edit]) -> str:
    for index, edit in enumerate(edits):
        if index:
            composed = compose_document(text)
            if composed is None:
                raise Unsupported("the text broke")
            root = composed
        text = _Editor(text, root).apply(edit)
    return text


class _Editor:
    def __init__(self, text: str, root: yaml.Node) -> None:
        self._text = text
        self._root = root
        self._newline = "\r\n" if "\r\n" in text else "\n"

    def apply(self, edit: Edit) -> str:
        match edit.do:
            case "remove":
                return self._remove(edit.path)
            case "set":
                return self._set(edit.path, edit.value)
            case "rename":
                key, _ = self._entry(edit.path)
                return self._replaced(key, edit.value)
            case "fill":
                return self._fill(edit.path, edit.value)
            case "insert":
                return self._insert(edit.path, edit.value)
            case "append":
                return self._append(edit.path, edit.value)
        raise Unsupported(edit.do)

    def _node(self, path: Path) -> yaml.Node:
        node = self._root
        for step in path:
            found = entry(node, step)
            if found is None:
                raise Unsupported("not written there")  # merged in from an anchor
            node = found[1]
        return node

    def _entry(self, path: Path) -> tuple[yaml.Node, yaml.Node]:
        found = entry(self._node(path[:-1]), path[-1])
        if found is None:
            raise Unsupported("not written there")
        return found

    def _spliced(self, start: int, end: int, new: str) -> str:
        return self._text[:start] + new + self._text[end:]

    def _line_start(self, index: int) -> int:
        return self._text.rfind("\n", 0, index) + 1

    def _line_end(self, index: int) -> int:
        """Behind the newline of the line, or the end of the text."""
        found = self._text.find("\n", index)
        return len(self._text) if found < 0 else found + 1

    def _content_end(self, node: yaml.Node) -> int:
        """Behind the last character of a value; block values end where the next token starts."""
        while isinstance(node, yaml.CollectionNode) and not node.flow_style:
            last = node.value[-1]
            node = last[1] if isinstance(node, yaml.MappingNode) else last
        end: int = node.end_mark.index
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
            start = node.start_mark.index
            return start + len(self._text[start:end].rstrip())
        return end

    def _remove(self, path: Path) -> str:
        above = self._node(path[:-1])
        if not isinstance(above, yaml.MappingNode):
            raise Unsupported("an element of a list")
        key, value = self._entry(path)
        index = next(at for at, pair in enumerate(above.value) if pair[0] is key)
        if above.flow_style:
            return self._remove_from_flow(above, index)
        start, end = key.start_mark.index, self._content_end(value)
        line = self._line_start(start)
        if not self._text[line:start].strip():
            return self._spliced(line, self._line_end(end), "")
        # The key stands behind the dash of its element: the next key takes its place.
        if index + 1 == len(above.value):
            raise Unsupported("nothing to put behind the dash")
        following = above.value[index + 1][0].start_mark.index
        if "#" in self._text[end:following]:
            raise Unsupported("a comment in between")
        return self._spliced(start, following, "")

    def _remove_from_flow(self, above: yaml.MappingNode, index: int) -> str:
        key, value = above.value[index]
        if index + 1 < len(above.value):
            start, end = key.start_mark.index, above.value[index + 1][0].start_mark.index
        else:
            start, end = above.value[index - 1][1].end_mark.index, value.end_mark.index
        if "#" in self._text[start:end]:
            raise Unsupported("a comment in between")
        return self._spliced(start, end, "")

    def _set(self, path: Path, value: Any) -> str:
        _, node = self._entry(path)
        if not isinstance(node, yaml.ScalarNode) or node.style in ("|", ">"):
            raise Unsupported("not a value of one line")
        if isinstance(value, dict | list):
            raise Unsupported("more than a value")
        return self._replaced(node, value)

    def _replaced(self, node: yaml.Node, value: Any) -> str:
        start, end = node.start_mark.index, node.end_mark.index
        if start == end:
            return self._spliced(start, end, " " + _scalar(value, None))
        return self._spliced(start, end, _scalar(value, getattr(node, "style", None)))

    def _insert(self, path: Path, value: Any) -> str:
        """A new key, behind the last one of its map."""
        above = self._node(path[:-1])
        if not isinstance(above, yaml.MappingNode) or not above.value:
            raise Unsupported("not a map")
        if above.flow_style:
            end = above.value[-1][1].end_mark.index
            return self._spliced(end, end, f", {json.dumps(path[-1])}: {json.dumps(value)}")
        column = above.value[0][0].start_mark.column
        return self._put_lines(self._content_end(above), {path[-1]: value}, column)

    def _append(self, path: Path, value: Any) -> str:
        node = self._node(path)
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            raise Unsupported("not a list")
        if node.flow_style:
            end = node.value[-1].end_mark.index
            return self._spliced(end, end, f", {json.dumps(value)}")
        return self._put_lines(self._content_end(node), [value], node.start_mark.column)

    def _fill(self, path: Path, value: Any) -> str:
        """Put something where {}, [] or nothing is."""
        key, node = self._entry(path)
        if isinstance(node, yaml.CollectionNode) or self._is_in_flow(path):
            start, end = node.start_mark.index, node.end_mark.index
            space = " " if start == end else ""
            return self._spliced(start, end, space + json.dumps(value))
        if node.start_mark.index != node.end_mark.index:
            return self._spliced(node.start_mark.index, node.end_mark.index, json.dumps(value))
        return self._put_lines(key.end_mark.index, value, key.start_mark.column + _INDENT)

    def _is_in_flow(self, path: Path) -> bool:
        nodes = [self._node(path[:length]) for length in range(len(path))]
        return any(isinstance(node, yaml.CollectionNode) and node.flow_style for node in nodes)

    def _put_lines(self, behind: int, value: Any, column: int) -> str:
        """Lines of block YAML behind the line that an index is on."""
        dumped = yaml.safe_dump(value, sort_keys=False, default_flow_style=False, width=1 << 20)
        lines = [" " * column + line for line in dumped.splitlines()]
        new = self._newline.join(lines)
        at = self._line_end(behind)
        if at == len(self._text) and not self._text.endswith("\n"):
            return self._text + self._newline + new
        return self._spliced(at, at, new + self._newline)


def _scalar(value: Any, style: str | None) -> str:
    if style in ("'", '"'):
        return json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str):
        return json.dumps(value)
    dumped: str = yaml.safe_dump(value, width=1 << 20, allow_unicode=True)
    return dumped.removesuffix("...\n").rstrip("\n")
