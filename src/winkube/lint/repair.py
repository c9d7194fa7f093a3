"""Repair files: collect the fixes of a run, rewrite the files, show what changed."""

import difflib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from winkube.lint.fix import Repair, repair_text

_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Change:
    path: Path
    before: str
    after: str
    repairs: int

    def diff(self) -> str:
        name = str(self.path)
        lines = difflib.unified_diff(
            self.before.splitlines(keepends=True),
            self.after.splitlines(keepends=True),
            f"a/{name.lstrip('/')}",
            f"b/{name.lstrip('/')}",
        )
        return "".join(_ended(line) for line in lines)


def plan_changes(
    repairs: Iterable[tuple[Path, Repair]], errors_in: Callable[[str], frozenset[str]]
) -> Iterator[Change]:
    """What would change in which file, without making anything worse.

    A repair can wake a rule that slept (spec.os makes the API server strict about fields that were
    only ignored): if a file had new errors, it gets the removals only, or stays as it is.
    """
    by_file: dict[Path, list[Repair]] = {}
    for path, repair in repairs:
        by_file.setdefault(path, []).append(repair)
    for path, wanted in by_file.items():
        data = path.read_bytes()
        try:
            text = data.decode()
        except UnicodeDecodeError:
            continue  # only what can be written back as it was is rewritten
        bom = _BOM if text.startswith(_BOM) else ""
        old = text.removeprefix(_BOM)
        removals = [repair for repair in wanted if repair.fix.do == "remove"]
        for chosen in (wanted, removals):
            new, done = repair_text(old, chosen)
            if done and errors_in(new) <= errors_in(old):
                yield Change(path, text, bom + new, done)
                break


def apply_change(change: Change) -> None:
    """Replace the file in one step, so that nobody ever sees half of it."""
    path = change.path.resolve()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(change.after.encode())
        Path(name).chmod(path.stat().st_mode & 0o7777)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
