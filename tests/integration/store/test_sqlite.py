"""What only a store with a file can get wrong: reopening, locking, full disks, kill -9."""

import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from winkube.store.errors import (
    CompactedError,
    StoreClosedError,
    StoreFailedError,
    StoreLockedError,
)
from winkube.store.log import SqliteLog
from winkube.store.sqlite import SqliteStore
from winkube.store.types import Entry, Event, Revision

# Acknowledges each write on standard output, after the store has answered it.
WRITER = """
import asyncio, os, sys
from winkube.store.sqlite import SqliteStore

async def write(store, writer, start):
    entry, number = None, 0
    while True:
        number += 1
        key = f"/p/{start}-{writer}-{number}"
        entry = await store.create(key, lambda r: f"{r}".encode() + b"x" * 500)
        os.write(1, f"PUT {key} {entry.modified}\\n".encode())
        if number % 5 == 0:
            gone = await store.delete(key, None)
            os.write(1, f"DELETE {key} {gone.modified}\\n".encode())

async def main():
    store = await SqliteStore.open(sys.argv[1], history_events=200)
    os.write(1, f"OPEN {await store.revision()}\\n".encode())
    async with asyncio.TaskGroup() as group:
        for writer in range(6):
            group.create_task(write(store, writer, sys.argv[2]), name="w")

asyncio.run(main())
"""


def run_and_kill(path: Path, generation: int, acks: int) -> list[str]:
    """Run the writer until it has acknowledged so many writes, then SIGKILL it at once."""
    argv = [sys.executable, "-c", WRITER, str(path), str(generation)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            lines = [process.stdout.readline() for _ in range(acks)]
            os.kill(process.pid, signal.SIGKILL)
            lines += process.stdout.readlines()
        finally:
            process.kill()
    # The last line may be cut: the write was acknowledged only if the line is whole.
    return [line for line in lines if line.endswith("\n")]


async def test_every_acknowledged_write_survives_kill_nine(tmp_path: Path) -> None:
    path, rng = tmp_path / "store.db", random.Random(7)
    alive: dict[str, int] = {}
    deleted: set[str] = set()
    newest = 0
    for generation in range(6):
        lines = run_and_kill(path, generation, rng.randint(2, 400))
        for line in lines:
            word, *rest = line.split()
            if word == "OPEN":
                assert int(rest[0]) >= newest
                continue
            key, revision = rest[0], int(rest[1])
            newest = max(newest, revision)
            if word == "PUT":
                alive[key] = revision
            else:
                alive.pop(key)
                deleted.add(key)
    store = await SqliteStore.open(path)
    try:
        assert await store.revision() >= newest
        unanswered = 0
        for key, revision in alive.items():
            entry = await store.get(key)
            # A delete can be durable without its answer having been seen.
            unanswered += entry is None
            if entry is not None:
                assert entry.modified == revision
                assert entry.value.startswith(str(revision).encode())
        assert unanswered <= 6 * 6
        for key in deleted:
            assert await store.get(key) is None
    finally:
        await store.close()


async def test_a_reopened_store_has_its_entries_and_its_history(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "store.db"
    store = await SqliteStore.open(path)
    one = await store.create("/a", b"1")
    assert one is not None
    two = await store.update("/a", b"2", one.modified)
    await store.create("/b", b"b")
    await store.delete("/b", None)
    await store.close()
    again = await SqliteStore.open(path)
    try:
        assert await again.get("/a") == two
        assert await again.get("/b") is None
        assert await again.revision() == 4
        async with again.watch("/", Revision(1)) as watcher:
            updated, created, deleted = await anext(watcher)
        assert updated == Event("PUT", two or one, one, Revision(2))
        assert created.entry == Entry("/b", b"b", Revision(3), Revision(3))
        assert (deleted.kind, deleted.entry.value, deleted.entry.modified) == ("DELETE", b"b", 4)
    finally:
        await again.close()


async def test_revisions_go_on_when_the_last_write_was_a_compacted_delete(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await SqliteStore.open(path)
    await store.create("/a", b"1")
    await store.delete("/a", None)
    await store.compact(Revision(2))
    await store.close()
    again = await SqliteStore.open(path)
    try:
        assert await again.revision() == 2
        entry = await again.create("/b", b"x")
        assert entry is not None
        assert entry.modified == 3
        with pytest.raises(CompactedError):
            async with again.watch("/", Revision(1)):
                pass
    finally:
        await again.close()


async def test_compaction_removes_rows_and_nothing_that_is_current(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await SqliteStore.open(path)
    entry = await store.create("/a", b"0")
    for number in range(1, 50):
        assert entry is not None
        entry = await store.update("/a", str(number).encode(), entry.modified)
    await store.create("/keep", b"k")
    await store.compact(Revision(40))
    await store.close()
    with sqlite3.connect(path) as db:
        revisions = [row[0] for row in db.execute("SELECT revision FROM log ORDER BY revision")]
    db.close()
    assert revisions == list(range(40, 52))
    again = await SqliteStore.open(path)
    try:
        found = await again.get("/a")
        assert found is not None
        assert (found.value, found.created) == (b"49", 1)
        async with again.watch("/", Revision(40)) as watcher:
            events = await anext(watcher)
        assert [event.revision for event in events] == list(range(41, 52))
        assert events[0].previous is not None
        assert events[0].previous.value == b"39"
    finally:
        await again.close()


async def test_a_second_opener_is_refused(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store.db")
    try:
        with pytest.raises(StoreLockedError):
            SqliteLog(str(tmp_path / "store.db"), patience=0.05)
    finally:
        await store.close()


async def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"this is not a database, it is a text of more than one page" * 100)
    before = path.read_bytes()
    with pytest.raises(StoreFailedError):
        await SqliteStore.open(path)
    assert path.read_bytes() == before


def modes_in(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


async def test_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store.db")
    await store.create("/secret", b"s")
    modes = modes_in(tmp_path)
    await store.close()
    assert modes == {0o600}


async def test_a_write_the_disk_refuses_fails_and_the_store_goes_on(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store.db")
    try:
        await store.create("/a", b"1")
        store._writer._log._db.execute("PRAGMA max_page_count=8")
        with pytest.raises(StoreFailedError):
            await store.create("/big", b"x" * 1_000_000)
        assert await store.get("/big") is None
        entry = await store.create("/b", b"2")
        assert entry is not None
        assert entry.modified == 2
    finally:
        await store.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_nobody_waits_for_a_writer_that_died(tmp_path: Path) -> None:
    def deadly(revision: Revision) -> bytes:
        raise SystemError("bug")

    store = await SqliteStore.open(tmp_path / "store.db")
    with pytest.raises(StoreClosedError):
        await store.create("/a", deadly)
    with pytest.raises(StoreClosedError):
        await store.create("/b", b"x")
    await store.close()


async def test_memory_is_a_valid_place(tmp_path: Path) -> None:
    store = await SqliteStore.open(":memory:")
    assert await store.create("/a", b"1") is not None
    await store.close()
