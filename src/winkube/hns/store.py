"""HNS documents on disk: a folder per type, a file per object, replaced atomically.

Survives kill -9 of the service at any moment. It does not flush to the disk: after a power cut the
kernel objects are gone too, and clients build everything anew, as after a reboot of Windows.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from winkube.base.types import JsonObject


class DocumentStore:
    def __init__(self, root: Path) -> None:
        self._root = root

    def load(self, kind: str) -> Iterator[JsonObject]:
        """Every document of the kind; a half-written temporary file is not one."""
        folder = self._root / kind
        if folder.is_dir():
            for path in sorted(folder.glob("*.json")):
                yield json.loads(path.read_text())

    def put(self, kind: str, guid: str, document: JsonObject) -> None:
        path = self._root / kind / f"{guid}.json"
        draft = path.with_suffix(".new")
        try:
            draft.write_text(json.dumps(document))
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            draft.write_text(json.dumps(document))
        draft.replace(path)

    def delete(self, kind: str, guid: str) -> None:
        (self._root / kind / f"{guid}.json").unlink(missing_ok=True)


class MemoryStore(DocumentStore):
    """The same documents without a disk, for the model and for tests."""

    def __init__(self) -> None:
        super().__init__(Path("/nonexistent"))
        self._documents: dict[tuple[str, str], str] = {}

    def load(self, kind: str) -> Iterator[JsonObject]:
        rows = [text for (row, _), text in self._documents.items() if row == kind]
        yield from map(json.loads, rows)

    def put(self, kind: str, guid: str, document: JsonObject) -> None:
        self._documents[kind, guid] = json.dumps(document)

    def delete(self, kind: str, guid: str) -> None:
        self._documents.pop((kind, guid), None)
