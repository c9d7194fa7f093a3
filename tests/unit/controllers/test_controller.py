import asyncio
from dataclasses import replace

from tests.unit.controllers.stage import make_context

from winkube.aio.rounds import Rounds
from winkube.api.errors import ConflictError
from winkube.base.types import JsonObject
from winkube.client.resource import CONFIGMAPS, REPLICASETS
from winkube.controllers.controller import Controller
from winkube.testing.fake_api import FakeApi
from winkube.testing.tasks import running


class Idle(Controller):
    name = "idle"

    async def reconcile(self, key: str) -> None:
        return


def named(uid: str) -> JsonObject:
    return {"metadata": {"name": "x", "namespace": "default", "uid": uid}}


async def test_what_is_removed_is_the_very_object_and_not_its_namesake() -> None:
    api = FakeApi()
    api.seed(CONFIGMAPS, named("second"))
    subject = Idle(make_context(api))
    assert not await subject.remove(CONFIGMAPS, named("first"))
    assert len(api.all(CONFIGMAPS)) == 1
    assert await subject.remove(CONFIGMAPS, named("second"))
    assert not await subject.remove(CONFIGMAPS, named("second"))
    assert api.all(CONFIGMAPS) == []


async def test_a_status_is_written_when_it_differs_and_its_object_is_there() -> None:
    api = FakeApi()
    obj = api.seed(REPLICASETS, {**named("rs"), "status": {"replicas": 1}})
    subject = Idle(make_context(api))
    await subject.write_status(REPLICASETS, obj, {"replicas": 1})
    assert api.calls == []
    await subject.write_status(REPLICASETS, obj, {"replicas": 2})
    assert api.all(REPLICASETS)[0]["status"] == {"replicas": 2}
    await subject.remove(REPLICASETS, obj)
    await subject.write_status(REPLICASETS, obj, {"replicas": 3})
    assert api.all(REPLICASETS) == []


async def test_controllers_that_share_a_loop_do_their_long_work_one_step_at_a_time() -> None:
    steps: list[str] = []

    class Busy(Idle):
        async def reconcile(self, key: str) -> None:
            for _ in range(5):
                steps.append(key)
                await asyncio.sleep(0)

    context = replace(make_context(FakeApi()), rounds=Rounds(-1.0))
    controllers = [Busy(context), Busy(context)]
    for controller in controllers:
        for number in range(4):
            controller.queue.add(f"n{number}/x")
    seen: list[int] = []
    async with running(*(controller.run() for controller in controllers)):
        while len(steps) < 40:
            before = len(steps)
            await asyncio.sleep(0)
            seen.append(len(steps) - before)
    assert max(seen) == 1


async def test_a_conflict_that_stays_is_met_less_and_less_often() -> None:
    later: list[float] = []

    class Clashing(Idle):
        async def reconcile(self, key: str) -> None:
            if len(later) < 8:
                raise ConflictError("not now")

    subject = Clashing(make_context(FakeApi()))
    subject.queue.add_after = lambda key, seconds: later.append(seconds)  # type: ignore[method-assign]
    for _ in range(9):
        await subject._attempt("default/x")
    assert later == [0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.0, 1.0]
    assert subject._conflicts == {}
