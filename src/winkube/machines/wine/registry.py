"""Edit Wine's registry files (system.reg, user.reg) as text.

A file is a head, then sections (a key in brackets, then a line per value). Values are written in
the file's own notation (``"text"``, ``dword:0000007b``); nothing but the named values changes.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from winkube.machines.wine.errors import RegistryTextError

MAGIC: Final = "WINE REGISTRY Version 2"
_SECTION: Final = re.compile(r"^\[((?:[^\]\\]|\\.)*)\]", re.MULTILINE)

# key path -> value name -> value in the file's notation, or None to remove it
Changes = Mapping[str, Mapping[str, str | None]]


def text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def dword(value: int) -> str:
    return f"dword:{value & 0xFFFFFFFF:08x}"


def _escape_key(key: str) -> str:
    return key.replace("\\", "\\\\")


def _split(content: str) -> tuple[str, list[str]]:
    """The head, and each section with its heading."""
    starts = [match.start() for match in _SECTION.finditer(content)]
    if not starts:
        return content, []
    ends = [*starts[1:], len(content)]
    return content[: starts[0]], [content[a:b] for a, b in zip(starts, ends, strict=True)]


def section_key(section: str) -> str:
    match = _SECTION.match(section)
    return match[1].replace("\\\\", "\\") if match else ""


def _name_pattern(name: str) -> re.Pattern[str]:
    head = "@" if not name else re.escape(text(name))
    # A value may run over lines that end with a backslash.
    return re.compile(rf"^{head}=(?:.*\\\n)*.*\n?", re.MULTILINE | re.IGNORECASE)


def _edit_section(section: str, values: Mapping[str, str | None]) -> str:
    for name, value in values.items():
        section = _name_pattern(name).sub("", section)
        if value is not None:
            line = f"{'@' if not name else text(name)}={value}\n"
            section = section.rstrip("\n") + "\n" + line + "\n"
    return section


def edit(content: str, changes: Changes) -> str:
    """Set and remove values; keys are compared without case, as Windows does."""
    head, sections = _split(content)
    wanted = {key.lower(): (key, values) for key, values in changes.items()}
    for index, section in enumerate(sections):
        found = wanted.pop(section_key(section).lower(), None)
        if found is not None:
            sections[index] = _edit_section(section, found[1])
    for key, values in wanted.values():
        if any(value is not None for value in values.values()):
            sections.append(_edit_section(f"[{_escape_key(key)}] 1\n", values))
    return head + "".join(part if part.endswith("\n\n") else part + "\n" for part in sections)


def map_sections(content: str, change: Callable[[str, str], str]) -> str:
    """Give every section, with its key, to ``change`` and keep what it returns."""
    head, sections = _split(content)
    return head + "".join(change(section_key(section), section) for section in sections)


def load_registry(path: Path) -> str:
    content = path.read_text(encoding="latin-1")
    if not content.startswith(MAGIC):
        raise RegistryTextError(path)
    return content


def save_registry(path: Path, content: str) -> None:
    path.write_text(content, encoding="latin-1")


def values_of(content: str, key: str, names: Iterable[str]) -> dict[str, str]:
    """Raw values of one key, for checks and tests."""
    _, sections = _split(content)
    found: dict[str, str] = {}
    for section in sections:
        if section_key(section).lower() == key.lower():
            for name in names:
                match = _name_pattern(name).search(section)
                if match:
                    found[name] = match[0].split("=", 1)[1].strip()
    return found
