"""HNS documents on disk: a journal of changes, one line each, rewritten when it has grown.

A line is one write to a file opened for appending, so kill -9 leaves it whole or not there. It is
not flushed to the disk: after a power cut the kernel objects are gone too, and clients build
everything anew, as after a reboot of Windows. A file per object would cost half of every request.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import orjson

from winkube.base.types import JsonObject

_SLACK: Final = 1000  # superseded lines that are not worth rewriting for
Key = tuple[str, str]


class MemoryStore:
    """Documents without a disk, for the model and for tests."""

    def __init__(self) -> None:
        self._documents: dict[Key, JsonObject] = {}

    def load(self, kind: str) -> Iterator[JsonObject]:
        return iter([row for (name, _), row in self._documents.items() if name == kind])

    def put(self, kind: str, guid: str, document: JsonObject) -> None:
        self._documents[kind, guid] = document

    def delete(self, kind: str, guid: str) -> None:
        self._documents.pop((kind, guid), None)


class DocumentStore(MemoryStore):
    """The same, remembered in ``<folder>/journal``."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._path = folder / "journal"
        self._file = -1
        self._lines = 0

    def open(self) -> None:
        """Read what an earlier service wrote; a last line that is cut short is no line."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self._path.exists():
            for line in self._path.read_bytes().split(b"\n"):
                self._replay(line)
        self._rewrite()

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def put(self, kind: str, guid: str, document: JsonObject) -> None:
        super().put(kind, guid, document)
        self._append(kind, guid, document)

    def delete(self, kind: str, guid: str) -> None:
        super().delete(kind, guid)
        self._append(kind, guid, None)

    def _replay(self, line: bytes) -> None:
        try:
            kind, guid, document = orjson.loads(line)
        except (orjson.JSONDecodeError, ValueError):
            return
        if document is None:
            super().delete(kind, guid)
        else:
            super().put(kind, guid, document)

    def _append(self, kind: str, guid: str, document: JsonObject | None) -> None:
        if self._lines > 4 * len(self._documents) + _SLACK:
            self._rewrite()
            return
        os.write(self._file, orjson.dumps([kind, guid, document]) + b"\n")
        self._lines += 1

    def _rewrite(self) -> None:
        self.close()
        draft = self._path.with_suffix(".new")
        rows = [
            orjson.dumps([kind, guid, document])
            for (kind, guid), document in self._documents.items()
        ]
        draft.write_bytes(b"".join(row + b"\n" for row in rows))
        draft.chmod(0o600)
        draft.replace(self._path)
        self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self._lines = len(rows)
