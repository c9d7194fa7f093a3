"""Where manifests come from: files, folders, the standard input, charts and kustomizations."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from winkube.lint.reading import MAX_FILE, Problem, too_large

_SUFFIXES: Final = (".yaml", ".yml", ".json")
_KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_CHART: Final = "Chart.yaml"
_SKIPPED: Final = frozenset({"node_modules", "__pycache__"})
_SECONDS: Final = 120.0
_COMPLAINT: Final = 400


class Charts(NamedTuple):
    """How charts are rendered: for which Kubernetes, with which values."""

    kubernetes: str = ""
    values: tuple[str, ...] = ()  # files
    settings: tuple[str, ...] = ()  # key=value

    def to_command(self, folder: Path) -> list[str]:
        version = [f"--kube-version={self.kubernetes}"] if self.kubernetes else []
        files = [f"--values={file}" for file in self.values]
        settings = [f"--set={setting}" for setting in self.settings]
        return ["helm", "template", "winkube-lint", str(folder), *version, *files, *settings]


class Source(NamedTuple):
    name: str
    data: bytes
    path: Path | None = None  # the file that a fix may rewrite


_AS_THEY_ARE: Final = Charts()


def read_sources(
    arguments: Sequence[str], charts: Charts = _AS_THEY_ARE
) -> Iterator[Source | Problem]:
    """Everything the arguments name, file by file."""
    for argument in arguments:
        path = Path(argument)
        if argument == "-":
            yield _limited("<stdin>", sys.stdin.buffer.read(MAX_FILE + 1))
        elif path.is_fifo():  # what a shell makes of <(helm template .)
            with path.open("rb") as stream:
                yield _limited(_shown(path), stream.read(MAX_FILE + 1))
        elif path.is_dir():
            yield from _folder(path, charts)
        else:
            yield _file(path)


def _file(path: Path) -> Source | Problem:
    name = _shown(path)
    try:
        if not path.is_file():
            return Problem(name, _what_else(path))
        size = path.stat().st_size
        if size > MAX_FILE:
            return too_large(name, size)
        return Source(name, path.read_bytes(), path)
    except OSError as error:
        return Problem(name, f"cannot be read: {error.strerror}")


def _what_else(path: Path) -> str:
    if path.exists():
        return "not a regular file"
    return "a link that leads nowhere" if path.is_symlink() else "no such file or folder"


def _shown(path: Path) -> str:
    """The name of a file as text, also if its bytes are none."""
    return os.fsencode(path).decode(errors="replace")


def _limited(name: str, data: bytes) -> Source | Problem:
    return too_large(name, len(data)) if len(data) > MAX_FILE else Source(name, data)


def _folder(path: Path, charts: Charts) -> Iterator[Source | Problem]:
    """What is below a folder, in order; a stack, because folders may nest deeper than calls may."""
    stack = [_Entry(str(path), is_folder=True)]
    while stack:
        entry = stack.pop()
        found = Path(entry.path)
        if not entry.is_folder:
            yield _file(found)
            continue
        try:
            below = sorted(os.scandir(found), key=lambda each: each.name)
        except OSError as error:
            yield Problem(_shown(found), f"cannot be read: {error.strerror}")
            continue
        command = _renderer({each.name for each in below}, found, charts)
        if command:
            yield _run(found, command)
        else:
            stack += [_to_entry(each) for each in reversed(below) if _is_wanted(each)]


class _Entry(NamedTuple):
    path: str
    is_folder: bool


def _to_entry(entry: os.DirEntry[str]) -> _Entry:
    return _Entry(entry.path, entry.is_dir(follow_symlinks=False))


def _is_wanted(entry: os.DirEntry[str]) -> bool:
    if entry.name.startswith(".") or entry.name in _SKIPPED:
        return False
    return entry.is_dir(follow_symlinks=False) or entry.name.endswith(_SUFFIXES)


def _renderer(names: set[str], folder: Path, charts: Charts) -> list[str]:
    """The program that makes manifests of a folder with these files; empty if it has some."""
    if _CHART in names:
        return charts.to_command(folder)
    return ["kubectl", "kustomize", str(folder)] if names & set(_KUSTOMIZATIONS) else []


def _run(folder: Path, command: list[str]) -> Source | Problem:
    """What a program renders from a folder; its complaint if it cannot."""
    shown, program = _shown(folder), shutil.which(command[0])
    if program is None:
        program_call = " ".join(command[:2])
        return Problem(
            shown,
            f"not checked: install {command[0]} to render it, or render it elsewhere and check the "
            f"output: {program_call} ... | winkube lint -",
        )
    try:
        done = subprocess.run(
            [program, *command[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Problem(shown, f"cannot be rendered: {error}")
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().replace("\n", " ")
        end = said if len(said) <= _COMPLAINT else f"... {said[-_COMPLAINT:]}"
        return Problem(shown, f"cannot be rendered: {end}")
    return _limited(f"{shown} ({command[0]})", done.stdout)
