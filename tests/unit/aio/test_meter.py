"""Processor time of a coroutine."""

import asyncio
import time

import pytest

from winkube.aio.meter import Meter


def spin(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


async def test_own_work_counts_and_waiting_does_not() -> None:
    async def work() -> str:
        spin(0.02)
        await asyncio.sleep(0)
        spin(0.02)
        return "done"

    busy, idle = Meter(exact=True), Meter(exact=True)
    async with asyncio.TaskGroup() as group:
        waits = group.create_task(idle.run(asyncio.sleep(0.001)))
        assert await busy.run(work()) == "done"
        await waits
    assert busy.seconds >= 0.04
    assert idle.seconds < 0.02


async def test_errors_and_cancellation_reach_the_work_and_come_out_of_it() -> None:
    met: list[str] = []

    async def stubborn() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            met.append("cancelled")
            raise

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await Meter().run(stubborn())
    assert met == ["cancelled"]

    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await Meter().run(fail())
