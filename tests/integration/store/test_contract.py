"""One suite for every implementation of the Store protocol."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from winkube.store.errors import CompactedError, LaggedError, StoreClosedError
from winkube.store.memory import MemoryStore
from winkube.store.sqlite import SqliteStore
from winkube.store.types import Entry, Event, Revision, Store

Make = Callable[..., Awaitable[Store]]


@pytest.fixture(params=["memory", "sqlite"])
async def make(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Make]:
    made: list[Store] = []

    async def build(**limits: int) -> Store:
        store: Store
        if request.param == "memory":
            store = MemoryStore(**limits)
        else:
            store = await SqliteStore.open(tmp_path / f"{len(made)}.db", **limits)
        made.append(store)
        return store

    yield build
    for store in made:
        await store.close()


@pytest.fixture
async def store(make: Make) -> Store:
    return await make()


async def put(store: Store, key: str, value: bytes = b"v") -> Entry:
    entry = await store.create(key, value)
    assert entry is not None
    return entry


async def test_a_created_entry_can_be_read_at_once(store: Store) -> None:
    entry = await put(store, "/a/1", b"one")
    assert await store.get("/a/1") == entry
    assert (entry.value, entry.created, entry.modified) == (b"one", 1, 1)


async def test_get_of_absent_key_is_none(store: Store) -> None:
    assert await store.get("/nothing") is None


async def test_create_of_existing_key_is_refused_and_takes_no_revision(store: Store) -> None:
    await put(store, "/a")
    assert await store.create("/a", b"again") is None
    assert await store.revision() == 1


async def test_update_replaces_the_value_and_keeps_the_creation_revision(store: Store) -> None:
    first = await put(store, "/a")
    second = await store.update("/a", b"two", first.modified)
    assert second == Entry("/a", b"two", Revision(1), Revision(2))


async def test_update_from_a_stale_revision_is_refused(store: Store) -> None:
    first = await put(store, "/a")
    await store.update("/a", b"two", first.modified)
    assert await store.update("/a", b"three", first.modified) is None
    found = await store.get("/a")
    assert found is not None
    assert found.value == b"two"


async def test_update_of_absent_key_is_refused(store: Store) -> None:
    assert await store.update("/a", b"x", Revision(1)) is None


async def test_delete_answers_with_the_last_value_and_the_revision_of_the_deletion(
    store: Store,
) -> None:
    await put(store, "/a", b"last")
    gone = await store.delete("/a", None)
    assert gone == Entry("/a", b"last", Revision(1), Revision(2))
    assert await store.get("/a") is None


async def test_delete_of_absent_key_is_none(store: Store) -> None:
    assert await store.delete("/a", None) is None
    assert await store.revision() == 0


async def test_delete_from_a_stale_revision_is_refused(store: Store) -> None:
    first = await put(store, "/a")
    await store.update("/a", b"two", first.modified)
    assert await store.delete("/a", first.modified) is None
    assert await store.get("/a") is not None


async def test_a_callable_value_sees_the_revision_it_is_written_at(store: Store) -> None:
    await put(store, "/a")
    entry = await store.create("/b", lambda revision: f"rv={revision}".encode())
    assert entry is not None
    assert entry.value == b"rv=2"


@pytest.mark.parametrize("error", [ValueError, KeyError, RecursionError, AttributeError])
async def test_a_callable_that_raises_fails_its_write_alone(
    store: Store, error: type[Exception]
) -> None:
    def broken(revision: Revision) -> bytes:
        raise error("no")

    with pytest.raises(error, match="no"):
        await store.create("/a", broken)
    assert (await put(store, "/b")).modified == 1


async def test_list_is_in_key_order_and_honours_the_prefix(store: Store) -> None:
    for key in ("/pods/b/1", "/pods/a/2", "/pods/a/10", "/pods/ab/1", "/nodes/x"):
        await put(store, key)
    listing = await store.list("/pods/a/")
    assert [entry.key for entry in listing.entries] == ["/pods/a/10", "/pods/a/2"]
    assert listing.revision == 5
    assert not listing.more


async def test_list_continues_after_a_key(store: Store) -> None:
    for number in range(5):
        await put(store, f"/p/{number}")
    first = await store.list("/p/", limit=2)
    rest = await store.list("/p/", start_after=first.entries[-1].key, limit=10)
    assert [entry.key for entry in first.entries] == ["/p/0", "/p/1"]
    assert first.more
    assert [entry.key for entry in rest.entries] == ["/p/2", "/p/3", "/p/4"]
    assert not rest.more


async def test_list_that_fits_its_limit_exactly_has_no_more(store: Store) -> None:
    await put(store, "/p/1")
    assert not (await store.list("/p/", limit=1)).more


async def test_keys_of_any_characters_are_kept_apart(store: Store) -> None:
    keys = ["/p/\x00", "/p/../etc", "/p/é", "/p/\U0001f600", "/p/'; DROP TABLE log; --"]
    for key in keys:
        await put(store, key, key.encode())
    listing = await store.list("/p/")
    assert sorted(keys) == [entry.key for entry in listing.entries]
    assert all(entry.value == entry.key.encode() for entry in listing.entries)


async def test_watch_replays_the_past_then_follows(store: Store) -> None:
    await put(store, "/p/1")
    async with store.watch("/p/", Revision(0)) as watcher:
        assert [event.entry.key for event in await anext(watcher)] == ["/p/1"]
        await put(store, "/other")
        entry = await put(store, "/p/2")
        assert await anext(watcher) == [Event("PUT", entry, None, Revision(3))]


async def test_watch_from_now_sees_only_what_follows(store: Store) -> None:
    await put(store, "/p/1")
    async with store.watch("/p/", await store.revision()) as watcher:
        await put(store, "/p/2")
        assert [event.revision for event in await anext(watcher)] == [2]


async def test_events_carry_what_they_replaced(store: Store) -> None:
    one = await put(store, "/p", b"1")
    two = await store.update("/p", b"2", one.modified)
    await store.delete("/p", None)
    async with store.watch("/", Revision(0)) as watcher:
        created, updated, deleted = await anext(watcher)
    assert created.previous is None
    assert updated.previous == one
    assert (deleted.kind, deleted.previous, deleted.entry.value) == ("DELETE", two, b"2")


async def test_concurrent_writers_get_dense_revisions_and_watchers_see_them_in_order(
    store: Store,
) -> None:
    async def write(writer: int) -> None:
        for number in range(25):
            await store.create(f"/p/{writer}/{number}", b"x")

    seen: list[int] = []
    async with store.watch("/p/", Revision(0)) as watcher:
        async with asyncio.TaskGroup() as group:
            for writer in range(8):
                group.create_task(write(writer), name=f"writer-{writer}")
        while len(seen) < 200:
            seen += [event.revision for event in await anext(watcher)]
    assert seen == list(range(1, 201))


async def test_of_concurrent_updates_from_one_revision_exactly_one_wins(store: Store) -> None:
    first = await put(store, "/a")
    wins: list[Entry] = []

    async def try_update(number: int) -> None:
        entry = await store.update("/a", str(number).encode(), first.modified)
        if entry is not None:
            wins.append(entry)

    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(try_update(number), name=f"update-{number}")
    assert len(wins) == 1
    assert await store.get("/a") == wins[0]


async def test_compaction_ends_old_watches_and_keeps_entries(store: Store) -> None:
    for number in range(5):
        await put(store, f"/p/{number}")
    await store.compact(Revision(3))
    with pytest.raises(CompactedError):
        async with store.watch("/p/", Revision(2)):
            pass
    async with store.watch("/p/", Revision(3)) as watcher:
        assert [event.revision for event in await anext(watcher)] == [4, 5]
    assert len((await store.list("/p/")).entries) == 5


async def test_compaction_of_the_future_stops_at_the_present(store: Store) -> None:
    await put(store, "/a")
    await store.compact(Revision(1000))
    assert await store.revision() == 1
    async with store.watch("/", Revision(1)) as watcher:
        await put(store, "/b")
        assert len(await anext(watcher)) == 1


async def test_history_is_bounded_by_itself(make: Make) -> None:
    store = await make(history_events=20)
    for number in range(100):
        await put(store, f"/p/{number}")
    with pytest.raises(CompactedError):
        async with store.watch("/p/", Revision(0)):
            pass
    async with store.watch("/p/", Revision(95)) as watcher:
        assert [event.revision for event in await anext(watcher)] == [96, 97, 98, 99, 100]


async def test_history_is_bounded_in_bytes(make: Make) -> None:
    store = await make(history_bytes=10_000)
    entry = await put(store, "/big", b"x" * 1000)
    for _ in range(50):
        updated = await store.update("/big", b"y" * 1000, entry.modified)
        assert updated is not None
        entry = updated
    with pytest.raises(CompactedError):
        async with store.watch("/", Revision(0)):
            pass


async def test_a_slow_watcher_is_cut_off_and_the_writer_is_not_slowed(make: Make) -> None:
    store = await make(watch_events=10)
    async with store.watch("/p/", Revision(0)) as watcher:
        for number in range(50):
            await put(store, f"/p/{number}")
        with pytest.raises(LaggedError):
            await anext(watcher)


async def test_close_ends_watches_and_refuses_writes(store: Store) -> None:
    async with store.watch("/p/", Revision(0)) as watcher:
        await store.close()
        with pytest.raises(StoreClosedError):
            await anext(watcher)
    with pytest.raises(StoreClosedError):
        await store.create("/a", b"x")


async def test_flush_returns_after_every_write_before_it(store: Store) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(store.create(f"/p/{number}", b"x"), name=f"create-{number}")
        await asyncio.sleep(0)
        await store.flush()
        assert await store.revision() == 20


async def test_a_cancelled_writer_does_not_disturb_the_others(store: Store) -> None:
    async with asyncio.TaskGroup() as group:
        doomed = group.create_task(store.create("/p/doomed", b"x"), name="doomed")
        group.create_task(store.create("/p/kept", b"x"), name="kept")
        await asyncio.sleep(0)
        doomed.cancel()
    assert await store.get("/p/kept") is not None
