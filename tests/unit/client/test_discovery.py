"""What a server has, asked once for many."""

import asyncio

from winkube.api.errors import UnavailableError
from winkube.base.types import JsonObject
from winkube.client.discovery import Surveyor
from winkube.testing.fake_api import FakeApi
from winkube.testing.fake_clock import FakeClock


class Counted(FakeApi):
    def __init__(self) -> None:
        super().__init__()
        self.surveys = 0
        self.silent = ""

    async def get_path(self, path: str) -> JsonObject:
        self.surveys += path == "/apis"
        await asyncio.sleep(0)
        if path == self.silent:
            raise UnavailableError("no answer")
        return await super().get_path(path)


async def ask(surveyor: Surveyor, count: int) -> None:
    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(surveyor.survey())


async def test_those_who_ask_at_the_same_time_share_an_answer() -> None:
    api, clock = Counted(), FakeClock()
    surveyor = Surveyor(api, clock)
    await ask(surveyor, 100)
    assert api.surveys == 1
    clock.advance(0.9)
    await ask(surveyor, 100)
    assert api.surveys == 1
    clock.advance(0.2)
    found = await surveyor.survey()
    assert api.surveys == 2, "what was registered meanwhile has to be seen"
    assert any(served.kind == "Pod" for served in found.resources)


async def test_those_who_waited_for_a_long_survey_do_not_ask_again() -> None:
    api, clock = Counted(), FakeClock()
    surveyor = Surveyor(api, clock)
    async with asyncio.TaskGroup() as group:
        for _ in range(100):
            group.create_task(surveyor.survey())
        await asyncio.sleep(0)
        clock.advance(60)
    assert api.surveys == 1


async def test_an_answer_that_lacks_a_group_is_not_kept() -> None:
    api = Counted()
    api.silent = "/apis/apps/v1"
    surveyor = Surveyor(api, FakeClock())
    assert (await surveyor.survey()).silent == ["apps/v1"]
    api.silent = ""
    assert (await surveyor.survey()).silent == []


async def test_those_who_wait_share_an_answer_that_lacks_a_group() -> None:
    """A server that does not answer takes its time, which they would take one by one."""
    api = Counted()
    api.silent = "/apis/apps/v1"
    surveyor = Surveyor(api, FakeClock())
    await ask(surveyor, 100)
    assert api.surveys <= 2
