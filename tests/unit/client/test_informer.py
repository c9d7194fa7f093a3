import asyncio
from typing import Any

from winkube.base.types import JsonObject
from winkube.client.informer import Informer, InformerPool
from winkube.client.resource import NODES, PODS, SERVICES, Resource
from winkube.testing.fake_api import FakeApi
from winkube.testing.tasks import eventually, running

Seen = list[tuple[str, str | None, str | None]]


def pod(name: str, **labels: str) -> JsonObject:
    return {"metadata": {"name": name, "labels": labels}, "spec": {}}


def watched(api: FakeApi) -> tuple[Informer, Seen]:
    informer, seen = Informer(api, PODS), Seen()

    def uid(obj: JsonObject | None) -> str | None:
        return None if obj is None else str(obj["metadata"]["uid"])

    def note(key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        seen.append((key, uid(old), uid(new)))

    informer.on_change(note)
    return informer, seen


async def test_lists_then_follows_changes() -> None:
    api = FakeApi()
    api.seed(PODS, pod("a"))
    informer, seen = watched(api)
    async with running(informer.run()):
        await informer.synced.wait()
        assert informer.keys() == ["default/a"]
        await api.create(PODS, pod("b"))
        await eventually(lambda: informer.get("default/b"))
        await api.delete(PODS, "a", namespace="default")
        await eventually(lambda: informer.get("default/a") is None)
    assert [(key, old is None, new is None) for key, old, new in seen] == [
        ("default/a", True, False),
        ("default/b", True, False),
        ("default/a", False, True),
    ]


async def test_listed_objects_know_their_kind() -> None:
    api = FakeApi()
    stored = api.seed(PODS, pod("a"))
    informer, _ = watched(api)
    async with running(informer.run()):
        await informer.synced.wait()
    assert informer.list() == [stored]


async def test_every_page_is_read() -> None:
    api = FakeApi()
    for number in range(4100):
        api.seed(PODS, {"metadata": {"name": f"p{number}"}})
    informer, _ = watched(api)
    async with running(informer.run()):
        await informer.synced.wait()
    assert len(informer.keys()) == 4100


async def test_broken_watch_resumes_without_loss() -> None:
    api = FakeApi()
    informer, seen = watched(api)
    async with running(informer.run()):
        await informer.synced.wait()
        for number in range(5):
            api.seed(PODS, pod(f"p{number}"))
            api.break_watches()
        await eventually(lambda: len(informer.keys()) == 5)
    assert len(seen) == 5


async def test_expired_version_lists_again_and_reports_the_difference() -> None:
    api = FakeApi()
    api.seed(PODS, pod("gone"))
    api.seed(PODS, pod("kept"))
    informer, seen = watched(api)
    async with running(informer.run()):
        await informer.synced.wait()
        seen.clear()
        await api.delete(PODS, "gone", namespace="default")
        await api.create(PODS, pod("new"))
        api.compact()
        await eventually(lambda: informer.get("default/new"))
        await eventually(lambda: informer.get("default/gone") is None)
    assert sorted(key for key, _, _ in seen) == ["default/gone", "default/new"]


async def test_object_made_again_between_lists_is_seen_as_deleted_and_added() -> None:
    api = FakeApi()
    first = api.seed(PODS, pod("a"))["metadata"]["uid"]
    informer, seen = watched(api)
    async with running(informer.run()):
        await informer.synced.wait()
        seen.clear()
        await api.delete(PODS, "a", namespace="default")
        second = (await api.create(PODS, pod("a")))["metadata"]["uid"]
        api.compact()
        await eventually(lambda: len(seen) == 2)
    assert seen == [("default/a", first, None), ("default/a", None, second)]


async def test_late_handler_is_told_what_is_cached() -> None:
    api = FakeApi()
    api.seed(PODS, pod("a"))
    informer, _ = watched(api)
    late: list[str] = []
    async with running(informer.run()):
        await informer.synced.wait()
        informer.on_change(lambda key, old, new: late.append(key))
    assert late == ["default/a"]


async def test_index_follows_the_objects() -> None:
    api = FakeApi()
    api.seed(PODS, pod("a", app="web"))
    informer, _ = watched(api)
    informer.add_index("app", lambda obj: obj["metadata"].get("labels", {}).values())
    async with running(informer.run()):
        await informer.synced.wait()
        assert len(informer.by_index("app", "web")) == 1
        body = {"metadata": {"labels": {"app": "db"}}}
        await api.patch(PODS, "a", body, namespace="default")
        await eventually(lambda: informer.by_index("app", "db"))
    assert informer.by_index("app", "web") == ()


async def test_pool_shares_one_informer_per_resource() -> None:
    api = FakeApi()
    api.seed(NODES, {"metadata": {"name": "n"}})
    pool = InformerPool(api)
    assert pool[NODES] is pool[NODES]
    async with running(pool.run()):
        await pool.synced()
        assert pool[NODES].keys() == ["n"]


class _Counting(FakeApi):
    """Counts the lists that are being answered at the same time; some are never answered."""

    def __init__(self, silent: tuple[Resource, ...] = ()) -> None:
        super().__init__()
        self.now = self.most = 0
        self._silent = silent

    async def list(self, resource: Resource, **options: Any) -> JsonObject:
        if resource in self._silent:
            await asyncio.Event().wait()
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        self.now -= 1
        return await super().list(resource, **options)


async def test_a_pool_fills_its_caches_one_after_the_other() -> None:
    api = _Counting()
    pool = InformerPool(api)
    for resource in (NODES, PODS, SERVICES):
        assert not pool[resource].synced.is_set()
    async with running(pool.run()):
        await pool.synced()
    assert api.most == 1


async def test_a_cache_that_is_not_filled_does_not_keep_the_others_empty() -> None:
    pool = InformerPool(_Counting(silent=(NODES,)))
    first, second = pool[NODES], pool[PODS]
    async with running(pool.run()), asyncio.timeout(10):
        await second.synced.wait()
    assert not first.synced.is_set()
