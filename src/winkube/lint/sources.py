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
            missing = not path.exists()
            return Problem(name, "no such file or folder" if missing else "not a regular file")
        size = path.stat().st_size
        if size > MAX_FILE:
            return too_large(name, size)
        return Source(name, path.read_bytes(), path)
    except OSError as error:
        return Problem(name, f"cannot be read: {error.strerror}")


def _shown(path: Path) -> str:
    """The name of a file as text, also if its bytes are none."""
    return os.fsencode(path).decode(errors="replace")


def _limited(name: str, data: bytes) -> Source | Problem:
    return too_large(name, len(data)) if len(data) > MAX_FILE else Source(name, data)


def _folder(path: Path, charts: Charts) -> Iterator[Source | Problem]:
    try:
        entries = sorted(os.scandir(path), key=lambda entry: entry.name)
    except OSError as error:
        yield Problem(_shown(path), f"cannot be read: {error.strerror}")
        return
    names = {entry.name for entry in entries}
    if _CHART in names:
        yield _run(path, charts.to_command(path))
        return
    if names & set(_KUSTOMIZATIONS):
        yield _run(path, ["kubectl", "kustomize", str(path)])
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name in _SKIPPED:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _folder(Path(entry.path), charts)
        elif entry.name.endswith(_SUFFIXES):
            yield _file(Path(entry.path))


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
        return Problem(shown, f"cannot be rendered: {said[-_COMPLAINT:]}")
    return _limited(f"{shown} ({command[0]})", done.stdout)
