import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from winkube.client.informer import Informer
from winkube.client.resource import ENDPOINTSLICES, SERVICES
from winkube.proxy.change import ServiceChanges
from winkube.proxy.config import ProxyConfig
from winkube.proxy.errors import ProxyError
from winkube.proxy.loop import PortsByService, SyncLoop
from winkube.proxy.topology import Place
from winkube.testing.fake_api import FakeApi

CONFIG = ProxyConfig(
    "n", "172.30.0.11", "10.244.0.0/16", min_sync_seconds=0.001, check_seconds=0.01
)


class Plane:
    def __init__(self) -> None:
        self.calls: list[tuple[str, frozenset[str]]] = []
        self.failures = 0
        self.intact = True
        self.unfinished: list[set[str]] = []
        self.called = asyncio.Event()

    async def replace(self, ports: PortsByService) -> set[str]:
        return self._record("replace", ports)

    async def update(self, ports: PortsByService) -> set[str]:
        return self._record("update", ports)

    async def is_intact(self) -> bool:
        return self.intact

    def _record(self, verb: str, ports: PortsByService) -> set[str]:
        if self.failures:
            self.failures -= 1
            raise ProxyError("no")
        self.calls.append((verb, frozenset(ports)))
        self.intact = True
        self.called.set()
        return self.unfinished.pop(0) if self.unfinished else set()

    async def next_call(self) -> tuple[str, frozenset[str]]:
        async with asyncio.timeout(5):
            await self.called.wait()
        self.called.clear()
        return self.calls[-1]


def service(name: str) -> dict[str, object]:
    return {"metadata": {"namespace": "default", "name": name}, "spec": {"clusterIP": "10.96.0.7"}}


@asynccontextmanager
async def running(plane: Plane, api: FakeApi) -> AsyncIterator[SyncLoop]:
    services, slices = Informer(api, SERVICES), Informer(api, ENDPOINTSLICES)
    changes = ServiceChanges(services, slices, Place("n", heeds_hints=True))
    loop = SyncLoop(changes, plane, CONFIG)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(run()) for run in (services.run, slices.run, loop.run)]
        yield loop
        for task in tasks:
            task.cancel()


async def test_the_first_sync_is_full_and_the_next_touch_what_changed() -> None:
    api, plane = FakeApi(), Plane()
    api.seed(SERVICES, service("a"))
    async with running(plane, api) as loop:
        assert await plane.next_call() == ("replace", frozenset({"default/a"}))
        await loop.ready.wait()
        await api.create(SERVICES, service("b"))
        assert await plane.next_call() == ("update", frozenset({"default/b"}))
        label = {"kubernetes.io/service-name": "a"}
        slice_ = {"metadata": {"namespace": "default", "name": "a-1", "labels": label}}
        await api.create(ENDPOINTSLICES, slice_)
        assert await plane.next_call() == ("update", frozenset({"default/a"}))
        await api.delete(SERVICES, "b", namespace="default")
        assert await plane.next_call() == ("update", frozenset({"default/b"}))


async def test_a_failure_is_followed_by_a_full_sync() -> None:
    api, plane = FakeApi(), Plane()
    plane.failures = 1
    async with running(plane, api):
        assert (await plane.next_call())[0] == "replace"


async def test_work_that_disappeared_is_done_again() -> None:
    api, plane = FakeApi(), Plane()
    async with running(plane, api):
        assert (await plane.next_call())[0] == "replace"
        plane.intact = False
        assert (await plane.next_call())[0] == "replace"


async def test_unfinished_services_are_tried_again_without_a_change() -> None:
    api, plane = FakeApi(), Plane()
    api.seed(SERVICES, service("a"))
    plane.unfinished = [{"default/a"}]
    async with running(plane, api):
        assert (await plane.next_call())[0] == "replace"
        assert await plane.next_call() == ("update", frozenset({"default/a"}))


def test_another_zone_is_a_change_of_every_service() -> None:
    services, slices = Informer(FakeApi(), SERVICES), Informer(FakeApi(), ENDPOINTSLICES)
    changes = ServiceChanges(services, slices, Place("n", heeds_hints=True))
    services._objects["default/a"] = service("a")
    changes.move("z1")
    assert changes.take() == {"default/a"}
    changes.move("z1")
    assert changes.take() == set()
