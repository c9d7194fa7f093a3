"""One YAML or JSON document, safely: bounded depth, bounded aliases, text kept as text.

libyaml's composer recurses without a limit and ends the process on deep input, and aliases grow
when they are walked; both are refused before anything is built.
"""

import json
import re
from typing import Any, Final, NamedTuple

import orjson
import yaml
from yaml.constructor import ConstructorError

MAX_DEPTH: Final = 100
_TEXT: Final = "tag:yaml.org,2002:str"
_MAP: Final = "tag:yaml.org,2002:map"
_LIST: Final = "tag:yaml.org,2002:seq"
MAX_NODES: Final = 1_000_000
_TEMPLATE: Final = "a template that is not rendered; check the output of 'helm template' instead"
_RISKY_BRACKETS: Final = 1000  # the composer's stack is safe for several times as many
ALIAS: Final = re.compile(r"(?:^|[\s\[{,:-])\*[^\s*]", re.MULTILINE)
_DEEP_INDENT: Final = re.compile(rf"^[ ]{{{MAX_DEPTH}}}", re.MULTILINE)
_DEEP_DASHES: Final = re.compile(r"(?:[-?:][ \t]+){20}")


class UnreadableError(Exception):
    """A document that cannot be checked; line and column count from 0 within it."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


class Repeated(NamedTuple):
    """A key that is there twice in one map, and where the second is, counted from 0."""

    key: str
    line: int
    column: int


class SafeLoader(yaml.CSafeLoader):
    """Dates stay text, as in Kubernetes; tags of other programs do not matter here."""

    repeated: Repeated | None = None

    # Rules by path, which nobody has set, cost a sixth of the time to read a document.
    def descend_resolver(self, current_node: Any, current_index: Any) -> None:
        pass

    def ascend_resolver(self) -> None:
        pass

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        if kind is not yaml.ScalarNode:
            return _LIST if kind is yaml.SequenceNode else _MAP
        if implicit[0]:
            for tag, form in self.yaml_implicit_resolvers.get(value[:1], ()):
                if form.match(value):
                    return str(tag)
        return _TEXT


def _plain(loader: SafeLoader, suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return node.value


SafeLoader.add_constructor(
    "tag:yaml.org,2002:timestamp",
    lambda _, node: node.value,
)
SafeLoader.add_multi_constructor("!", _plain)
SafeLoader.add_multi_constructor("tag:", _plain)


def parse_document(text: str) -> Any:
    """The value of one document."""
    return parse_with_repeated(text)[0]


def parse_with_repeated(text: str) -> tuple[Any, Repeated | None]:
    """The value of one document, and a key that it has twice: of two the last counts."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            return orjson.loads(text), _repeated_in_json(text)
        except orjson.JSONDecodeError:
            pass  # flow YAML, or broken: the YAML parser says where
    return _parse_yaml(text)


def _parse_yaml(text: str) -> tuple[Any, Repeated | None]:
    _check_depth(text)
    loader = SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None, None
        has_aliases = ALIAS.search(text) is not None
        # From _RISKY_BRACKETS on the depth was measured already.
        if has_aliases or MAX_DEPTH <= _brackets(text) < _RISKY_BRACKETS:
            _check_growth(node)
        if has_aliases:
            repeated = _repeated_below(node)  # before merged keys are written into the nodes
            return loader.construct_document(node), repeated
        return _build(loader, node), loader.repeated
    except yaml.YAMLError as error:
        raise _explained(error, text) from error
    except UnreadableError as error:
        if "{{" in text:
            raise UnreadableError(_TEMPLATE, error.line, error.column) from error
        raise
    except (ValueError, OverflowError) as error:
        raise _unreadable(error, None) from error
    finally:
        loader.dispose()


def _build(loader: SafeLoader, node: yaml.Node) -> Any:
    """The value of a tree without aliases: what the loader does, in a third of the time."""
    tag = node.tag
    if tag == _TEXT:
        return node.value
    if tag == _MAP and isinstance(node, yaml.MappingNode):
        built = {
            (key.value if key.tag == _TEXT else _key(loader, key)): _build(loader, value)
            for key, value in node.value
        }
        if len(built) < len(node.value):
            loader.repeated = _repeated_of(node)
        return built
    if tag == _LIST and isinstance(node, yaml.SequenceNode):
        return [_build(loader, below) for below in node.value]
    try:
        return loader.construct_object(node, deep=True)
    except (ValueError, OverflowError) as error:
        raise _unreadable(error, node.start_mark) from error


def _repeated_of(node: yaml.MappingNode) -> Repeated | None:
    seen: set[tuple[str, str]] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.value == "<<":
            continue
        if (key.tag, key.value) in seen:
            return Repeated(key.value, key.start_mark.line, key.start_mark.column)
        seen.add((key.tag, key.value))
    return None


def _repeated_below(root: yaml.Node) -> Repeated | None:
    """The same for a tree with aliases: what is reached twice is looked at once."""
    stack, seen = [root], {id(root)}
    while stack:
        node = stack.pop()
        found = _repeated_of(node) if isinstance(node, yaml.MappingNode) else None
        if found is not None:
            return found
        fresh = [each for each in _below(node) if id(each) not in seen]
        seen.update(id(each) for each in fresh)
        stack += fresh
    return None


def _repeated_in_json(text: str) -> Repeated | None:
    """JSON is read by a parser that says nothing of this; the place of a key is then sought."""
    found: list[str] = []

    def look(pairs: list[tuple[str, Any]]) -> None:
        if len(dict(pairs)) < len(pairs):
            found.append("")

    try:
        json.loads(text, object_pairs_hook=look)
    except (ValueError, RecursionError):
        return None  # its own limits are none of ours
    return _parse_yaml(text)[1] if found else None


def _key(loader: SafeLoader, node: yaml.Node) -> Any:
    key = loader.construct_object(node, deep=True)
    if isinstance(key, dict | list):
        mark = node.start_mark
        raise UnreadableError("a map or list as a key", mark.line, mark.column)
    return key


def compose_document(text: str) -> yaml.Node | None:
    """The nodes of a document that was parsed before, with their places."""
    try:
        return yaml.compose(text, Loader=SafeLoader)  # type: ignore[no-any-return]
    except yaml.YAMLError:
        return None  # JSON that is no YAML (tabs): findings then point at the document


def _check_depth(text: str) -> None:
    """Walk the events of a document that looks deep; most do not."""
    if (
        _brackets(text) < _RISKY_BRACKETS
        and not _DEEP_INDENT.search(text)
        and not _DEEP_DASHES.search(text)
    ):
        return
    depth = 0
    try:
        for event in yaml.parse(text, Loader=SafeLoader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    raise _too_deep(event.start_mark)
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except yaml.YAMLError as error:
        raise _explained(error, text) from error


def _check_growth(root: yaml.Node) -> None:
    """Refuse a document that, with its aliases written out, is too large, too deep or endless."""
    sizes: dict[int, int] = {}
    heights: dict[int, int] = {}
    under_way: set[int] = set()
    stack: list[tuple[yaml.Node, bool]] = [(root, False)]
    while stack:
        node, is_done = stack.pop()
        key = id(node)
        if is_done:
            under_way.discard(key)
            below = [id(each) for each in _below(node)]
            sizes[key] = 1 + sum(sizes[each] for each in below)
            heights[key] = 1 + max((heights[each] for each in below), default=-1)
            if heights[key] > MAX_DEPTH:
                raise _too_deep(node.start_mark)
            if sizes[key] > MAX_NODES:
                mark = node.start_mark
                raise UnreadableError(
                    f"aliases grow to more than {MAX_NODES:,} values", mark.line, mark.column
                )
        elif key not in sizes:
            if key in under_way:
                mark = node.start_mark
                raise UnreadableError("an anchor contains itself", mark.line, mark.column)
            under_way.add(key)
            stack.append((node, True))
            stack += [(below, False) for below in _below(node)]


def _unreadable(error: Exception, mark: Any) -> UnreadableError:
    said = str(error).partition(":")[0]  # the rest is advice for programmers
    line, column = (mark.line, mark.column) if mark else (0, 0)
    return UnreadableError(f"a value cannot be read: {said}", line, column)


def _too_deep(mark: Any) -> UnreadableError:
    return UnreadableError(f"nested deeper than {MAX_DEPTH} levels", mark.line, mark.column)


def _brackets(text: str) -> int:
    """How many could nest: an empty list or map holds nothing."""
    return text.count("[") + text.count("{") - text.count("[]") - text.count("{}")


def _below(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _explained(error: yaml.YAMLError, text: str) -> UnreadableError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    index = mark.index if mark else getattr(error, "position", 0)
    line, column = text.count("\n", 0, index), index - text.rfind("\n", 0, index) - 1
    if "{{" in text:
        return UnreadableError(_TEMPLATE, line, column)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    if text[index : index + 1] == "\t":
        problem = "a tab where YAML allows spaces only"
    elif isinstance(error, ConstructorError):
        problem = f"a value cannot be read: {problem}"
    return UnreadableError(f"not YAML: {problem}", line, column)
