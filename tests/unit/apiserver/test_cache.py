import asyncio
from contextlib import ExitStack
from typing import Any

import pytest

from winkube.api.errors import ExpiredError
from winkube.apiserver.cache import Cache, ResourceCache, Watcher
from winkube.apiserver.item import Item
from winkube.apiserver.upkeep.compaction import Compaction
from winkube.store.memory import MemoryStore
from winkube.store.types import Revision

PREFIX = "/registry/things/"


def item(name: str, revision: int, namespace: str = "n") -> Item:
    data = b'{"metadata":{"name":"%b","resourceVersion":"%d"}}' % (name.encode(), revision)
    return Item(f"{PREFIX}{namespace}/{name}", data, revision, (namespace, name))


def large(name: str, revision: int, size: int) -> Item:
    return Item(f"{PREFIX}n/{name}", b" " * size, revision, ("n", name))


def names(items: list[Item]) -> list[str]:
    return [entry.name for entry in items]


def test_items_are_in_key_order_and_by_namespace() -> None:
    cache = ResourceCache(PREFIX)
    for number, (namespace, name) in enumerate((("b", "x"), ("a", "z"), ("a", "y"), ("ab", "w"))):
        cache.put(item(name, number + 1, namespace), number + 1)
    assert names(cache.items()) == ["y", "z", "w", "x"]
    assert names(cache.items(f"{PREFIX}a/")) == ["y", "z"]


def test_past_is_todays_items_with_later_changes_undone() -> None:
    cache = ResourceCache(PREFIX)
    cache.put(item("a", 1), 1)
    cache.put(item("b", 2), 2)
    cache.remove(item("a", 1).key, 3)
    cache.put(item("b", 4), 4)
    assert names(cache.items_at(PREFIX, 2)) == ["a", "b"]
    assert cache.items_at(PREFIX, 2)[1].revision == 2
    assert names(cache.items_at(PREFIX, 1)) == ["a"]
    assert names(cache.items_at(PREFIX, 4)) == ["b"]


def test_window_forgets_and_says_so() -> None:
    cache = ResourceCache(PREFIX, window=2)
    for revision in range(1, 5):
        cache.put(item("a", revision), revision)
    assert [change.revision for change in cache.changes_after(2)] == [3, 4]
    with pytest.raises(ExpiredError, match=r"too old resource version: 1 \(2\)"):
        cache.changes_after(1)
    with pytest.raises(ExpiredError):
        cache.items_at(PREFIX, 1)


def test_followers_are_those_who_are_told_the_same() -> None:
    """However many watch their own namespace, others are told no later for it."""
    cache = ResourceCache(PREFIX)
    mine, other = f"{PREFIX}n/", f"{PREFIX}o/"
    with (
        cache.subscribe(PREFIX),
        cache.subscribe(mine),
        cache.subscribe(mine),
        cache.subscribe(mine, ("metadata.name", "a")),
    ):
        assert [cache.followers(prefix) for prefix in (PREFIX, mine, other)] == [1, 3, 1]
    assert [cache.followers(prefix) for prefix in (PREFIX, mine, other)] == [0, 0, 0]


def test_window_forgets_sooner_what_is_large() -> None:
    cache = ResourceCache(PREFIX, window_bytes=8000)
    for revision in range(1, 20):
        cache.put(large("a", revision, 1000), revision)
    # Each change keeps what it replaced and what it says.
    assert [change.revision for change in cache.changes_after(cache.expired)] == [16, 17, 18, 19]
    cache.load([], 20)
    for revision in range(21, 30):
        cache.put(item("b", revision), revision)
    assert len(cache.changes_after(20)) == 9


async def test_watcher_behind_by_much_is_cut_off() -> None:
    cache = ResourceCache(PREFIX, queue_bytes=3000)
    with cache.subscribe() as slow:
        for revision in range(1, 4):
            cache.put(large("a", revision, 1000), revision)
        assert len(await slow.take(0)) == 3
        cache.put(large("a", 4, 5000), 4)
        assert len(await slow.take(0)) == 1, "one is never too much"
        for revision in range(5, 9):
            cache.put(large("a", revision, 1000), revision)
        assert slow.lagged
        assert await slow.take(0) == []


async def test_slow_watcher_is_cut_off() -> None:
    cache = ResourceCache(PREFIX, queue=2)
    with cache.subscribe() as slow, cache.subscribe(f"{PREFIX}other/") as elsewhere:
        for revision in range(1, 5):
            cache.put(item("a", revision), revision)
        assert slow.lagged
        assert await slow.take(1) == []
        assert not elsewhere.lagged
    assert cache.watchers == 0


async def test_cache_follows_the_store() -> None:
    store = MemoryStore()
    await store.create(f"{PREFIX}n/a", b'{"metadata":{}}')
    cache = Cache(store, [PREFIX])
    await cache.load()
    assert names(cache.resource(PREFIX).items()) == ["a"]
    async with asyncio.TaskGroup() as group:
        task = group.create_task(cache.run())
        await asyncio.sleep(0)
        await store.create(f"{PREFIX}n/b", b'{"metadata":{}}')
        await store.delete(f"{PREFIX}n/a", Revision(1))
        await cache.reach(3)
        assert names(cache.resource(PREFIX).items()) == ["b"]
        assert cache.revision == 3
        task.cancel()


async def test_unknown_keys_still_advance_the_revision() -> None:
    store = MemoryStore()
    cache = Cache(store, [PREFIX])
    await cache.load()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(cache.run())
        await asyncio.sleep(0)
        await store.create("/registry/unknown/x", b"{}")
        await cache.reach(1)
        task.cancel()


async def test_trigger_wakes_only_those_it_concerns() -> None:
    def pod(node: str, revision: int) -> Item:
        data = b'{"metadata":{"name":"p"},"spec":{"nodeName":"%b"}}' % node.encode()
        return Item(f"{PREFIX}n/p", data, revision, ("n", "p"))

    cache = ResourceCache(PREFIX)
    one, two = ("spec.nodeName", "one"), ("spec.nodeName", "two")
    with (
        cache.subscribe(trigger=one) as first,
        cache.subscribe(trigger=two) as second,
        cache.subscribe(trigger=("metadata.name", "p")) as named,
        cache.subscribe(trigger=("metadata.name", "q")) as other,
    ):
        cache.put(pod("", 1), 1)
        cache.put(pod("one", 2), 2)
        cache.put(pod("two", 3), 3)
        assert [change.revision for change in await first.take(1)] == [2, 3]
        assert [change.revision for change in await second.take(1)] == [3]
        assert len(await named.take(1)) == 3
        assert await other.take(0) == []
    assert cache.watchers == 0


async def test_the_past_is_over_after_two_steps_of_compaction() -> None:
    store = MemoryStore()
    cache = Cache(store, [PREFIX])
    compaction = Compaction(cache)
    for name in "ab":
        await store.create(f"{PREFIX}n/{name}", b"{}")
    await cache.load()
    things = cache.resource(PREFIX)
    things.expired = 1  # the window would still reach back
    compaction.step()
    assert len(things.items_at(PREFIX, 1)) == 2
    compaction.step()
    with pytest.raises(ExpiredError, match=r"too old resource version: 1 \(2\)"):
        things.items_at(PREFIX, 1)
    assert len(things.items_at(PREFIX, 2)) == 2
    assert things.changes_after(1) == []


def test_a_change_is_offered_to_those_who_follow_its_folder_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    offered: list[Watcher] = []
    monkeypatch.setattr(Watcher, "offer", lambda self, change: offered.append(self))
    cache = ResourceCache(PREFIX)
    mine, other = f"{PREFIX}mine/", f"{PREFIX}other/"
    name = ("metadata.name", "a")
    with ExitStack() as stack:

        def follow(*args: Any) -> Watcher:
            return stack.enter_context(cache.subscribe(*args))

        told = [follow(), follow(PREFIX), follow(mine), follow(PREFIX, name), follow(mine, name)]
        for _ in range(100):
            follow(other)
            follow(other, name)
        assert cache.watchers == 205
        cache.put(item("a", 1, "mine"), 1)
        assert len(offered) == len(told)
        assert {*offered} == {*told}
    assert cache.watchers == 0
