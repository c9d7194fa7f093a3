"""Which findings people do not want to see: by annotation, by the config file."""

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from winkube.lint.errors import ConfigError
from winkube.lint.parsing import UnreadableError, parse_document
from winkube.rules.model import Finding, Severity

CONFIG_NAME: Final = ".winkube-lint.yaml"
_OFF: Final = "off"
_KNOWN: Final = frozenset(
    {"ignore", "severity", "kubernetes", "windows", "network", "runtime", "fail-on"}
)
_ENTRY: Final = frozenset({"rules", "paths", "kinds", "names", "reason"})


@dataclass(frozen=True, slots=True)
class Ignore:
    """All of its lists must match; an empty one matches everything."""

    rules: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def covers(self, finding: Finding, source: str) -> bool:
        ref = finding.ref
        return (
            _matches(finding.rule.id, self.rules)
            and _matches(source, self.paths)
            and _matches(ref.kind, self.kinds)
            and (_matches(ref.name, self.names) or f"{ref.namespace}/{ref.name}" in self.names)
        )


@dataclass(frozen=True, slots=True)
class Suppressions:
    ignores: tuple[Ignore, ...] = ()
    severities: Mapping[str, str] = field(default_factory=dict)

    def severity(self, finding: Finding, source: str) -> Severity | None:
        """How bad a finding is for these people; None is not at all."""
        if any(ignore.covers(finding, source) for ignore in self.ignores):
            return None
        word = self.severities.get(finding.rule.id)
        if word is None:
            return finding.rule.severity
        return None if word == _OFF else Severity(word)


@dataclass(frozen=True, slots=True)
class FileConfig:
    """What .winkube-lint.yaml says."""

    suppressions: Suppressions = field(default_factory=Suppressions)
    target: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fail_on: str = ""


def load_config(path: Path) -> FileConfig:
    if path.exists() and not path.is_file():
        raise ConfigError(path, "not a regular file")  # a device may never end
    try:
        document = parse_document(path.read_text(encoding="utf-8")) or {}
    except OSError as error:
        raise ConfigError(path, str(error.strerror)) from error
    except UnicodeDecodeError as error:
        raise ConfigError(path, "not UTF-8") from error
    except UnreadableError as error:
        raise ConfigError(path, f"line {error.line + 1}: {error.message}") from error
    if not isinstance(document, dict) or set(document) - _KNOWN:
        known = ", ".join(sorted(_KNOWN))
        raise ConfigError(path, f"must be a map with some of: {known}")
    severities = document.get("severity") or {}
    words = {_OFF, *(each.value for each in Severity)}
    # YAML reads a bare off as false.
    severities = {key: _OFF if word is False else word for key, word in severities.items()}
    for rule, word in severities.items():
        if word not in words:
            raise ConfigError(path, f"severity of {rule}: {word!r} is none of {sorted(words)}")
    sides = ("kubernetes", "windows", "network", "runtime")
    return FileConfig(
        Suppressions(
            tuple(_parse_ignore(path, entry) for entry in document.get("ignore") or ()),
            severities,
        ),
        {side: _texts(document.get(side)) for side in sides if document.get(side)},
        str(document.get("fail-on") or ""),
    )


def _parse_ignore(path: Path, entry: Any) -> Ignore:
    if isinstance(entry, str):
        return Ignore(rules=(entry,))
    if not isinstance(entry, dict) or set(entry) - _ENTRY:
        raise ConfigError(path, f"an entry of ignore has other words than {sorted(_ENTRY)}")
    return Ignore(*(_texts(entry.get(word)) for word in ("rules", "paths", "kinds", "names")))


def _texts(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(str(word) for word in value) if isinstance(value, list) else (str(value),)


def _matches(text: str, globs: Sequence[str]) -> bool:
    return not globs or any(fnmatch.fnmatchcase(text, glob) for glob in globs)
