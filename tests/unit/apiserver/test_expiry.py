import orjson

from winkube.api.kinds import KINDS
from winkube.apiserver.cache import Cache
from winkube.apiserver.served import Resources, storage_prefixes
from winkube.apiserver.storage import Storage
from winkube.apiserver.upkeep.expiry import LIFETIME, EventExpiry
from winkube.base.clock import to_rfc3339
from winkube.store.memory import MemoryStore


class FixedClock:
    def __init__(self, now: float) -> None:
        self._now = now

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._now


async def test_old_events_go_and_young_ones_stay() -> None:
    now = 1_000_000.0
    store = MemoryStore()
    for name, age in (("old", LIFETIME + 1), ("young", LIFETIME - 1)):
        event = {"metadata": {"name": name}, "lastTimestamp": to_rfc3339(now - age)}
        await store.create(f"/registry/events/default/{name}", orjson.dumps(event))
    cache = Cache(store, storage_prefixes(KINDS))
    await cache.load()
    resources = Resources(KINDS, store, cache)
    # Nothing follows the store here: the cache is moved on by hand.
    cache.revision = 1000
    await EventExpiry(resources, Storage(store, cache), FixedClock(now)).sweep()
    listed = await store.list("/registry/events/")
    assert [entry.key for entry in listed.entries] == ["/registry/events/default/young"]
