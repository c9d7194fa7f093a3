"""The SQLite file: an append-only table of events, opened by one process at a time."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from winkube.store.errors import StoreFailedError, StoreLockedError
from winkube.store.state import State
from winkube.store.types import Entry, Event, Revision

_SCHEMA = """
CREATE TABLE IF NOT EXISTS log (
    revision INTEGER PRIMARY KEY,
    deleted INTEGER NOT NULL,
    created INTEGER NOT NULL,
    key TEXT NOT NULL,
    value BLOB
);
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
"""

# Every statement lets go of the interpreter's lock and waits to get it back, which costs more than
# inserting a row: so rows go in together, in few sizes that the statement cache can hold.
_INSERT_SIZES = (32, 8, 4, 2, 1)
_INSERTS = {
    size: "INSERT INTO log (revision, deleted, created, key, value) VALUES "
    + ", ".join(["(?, ?, ?, ?, ?)"] * size)
    for size in _INSERT_SIZES
}

# A predecessor that was killed may take a moment to let go of its lock.
_PATIENCE = 2.0


class SqliteLog:
    def __init__(self, path: str, *, patience: float = _PATIENCE) -> None:
        if path != ":memory:":
            Path(path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            Path(path).touch(mode=0o600)
        try:
            self._db = _connect(path, patience)
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise StoreLockedError(path) from error
            raise StoreFailedError(str(error)) from error
        except sqlite3.DatabaseError as error:
            raise StoreFailedError(f"{path}: {error}") from error

    def load(self) -> State:
        """Read the whole log once: the entries as they are, and the history since compaction."""
        with _translated():
            row = self._db.execute("SELECT number FROM meta WHERE name='compacted'").fetchone()
            compacted = Revision(row[0] if row else 0)
            state = State(compacted)
            entries: dict[str, Entry] = {}
            rows = self._db.execute(
                "SELECT revision, deleted, created, key, value FROM log ORDER BY revision"
            )
            for event in _replay(rows, entries):
                if event.revision > compacted:
                    state.remember(event)
            state.load(entries)
            return state

    def append(self, events: Sequence[Event]) -> None:
        with _translated():
            self._db.execute("BEGIN IMMEDIATE")
            start = 0
            for size in _INSERT_SIZES:
                while len(events) - start >= size:
                    rows = map(_to_row, events[start : start + size])
                    self._db.execute(_INSERTS[size], tuple(chain.from_iterable(rows)))
                    start += size

    def remove(self, compacted: Revision, rows: Iterable[Revision]) -> None:
        with _translated():
            self._db.execute(
                "INSERT INTO meta (name, number) VALUES ('compacted', ?) "
                "ON CONFLICT (name) DO UPDATE SET number=max(number, excluded.number)",
                (compacted,),
            )
            self._db.executemany("DELETE FROM log WHERE revision=?", ((row,) for row in rows))

    def commit(self) -> None:
        with _translated():
            self._db.execute("COMMIT")

    def rollback(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def close(self) -> None:
        self._db.close()


def _connect(path: str, patience: float) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=patience)
    try:
        # Exclusive before WAL: no shared-memory file, and a second process is refused at once.
        db.execute("PRAGMA locking_mode=EXCLUSIVE")
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.execute("PRAGMA wal_autocheckpoint=4000")
        db.executescript(_SCHEMA)
    except sqlite3.Error:
        db.close()
        raise
    return db


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreFailedError(str(error)) from error


def _to_row(event: Event) -> tuple[int, int, int, str, bytes | None]:
    deleted = event.kind == "DELETE"
    entry = event.entry
    # A delete's value is the previous row's: compaction never removes that one alone.
    value = None if deleted else entry.value
    return (event.revision, int(deleted), entry.created, entry.key, value)


def _replay(
    rows: Iterable[tuple[int, int, int, str, bytes | None]], entries: dict[str, Entry]
) -> Iterator[Event]:
    for number, deleted, created, key, value in rows:
        revision, previous = Revision(number), entries.get(key)
        if deleted:
            last = previous.value if previous is not None else b""
            entries.pop(key, None)
            entry = Entry(key, last, Revision(created), revision)
            yield Event("DELETE", entry, previous, revision)
        else:
            entry = entries[key] = Entry(key, value or b"", Revision(created), revision)
            yield Event("PUT", entry, previous, revision)
