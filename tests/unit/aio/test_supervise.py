"""Errors about one object stay with that object."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

import pytest

from winkube.aio.backoff import Backoff
from winkube.aio.queue import WorkQueue
from winkube.aio.rounds import Rounds
from winkube.aio.supervise import work


async def test_a_failing_key_is_retried_and_others_go_on() -> None:
    queue: WorkQueue[str] = WorkQueue(Backoff(first=0.0))
    seen: list[str] = []

    async def reconcile(key: str) -> None:
        seen.append(key)
        if key == "bad" and seen.count("bad") < 3:
            raise ValueError(key)
        if seen.count("bad") == 3 and "good" in seen:
            raise asyncio.CancelledError

    queue.add("bad")
    queue.add("good")
    with pytest.raises(asyncio.CancelledError):
        await work(queue, reconcile)
    assert seen.count("good") == 1


async def assert_obeys(reconcile: Callable[[str], Awaitable[None]], begun: asyncio.Event) -> None:
    """Who is cancelled while it works on a key ends, and says that it was cancelled."""
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    async with asyncio.TaskGroup() as group:
        worker = group.create_task(work(queue, reconcile))
        await begun.wait()
        worker.cancel()
        async with asyncio.timeout(5):
            await asyncio.wait([worker])
    assert worker.cancelled()


async def test_a_failure_at_the_moment_of_cancellation_does_not_hide_it() -> None:
    begun = asyncio.Event()

    async def fail_when_cancelled() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError

    async def reconcile(key: str) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail_when_cancelled())

    await assert_obeys(reconcile, begun)


async def test_a_cancellation_that_work_swallowed_is_obeyed_all_the_same() -> None:
    begun = asyncio.Event()

    async def reconcile(key: str) -> None:
        begun.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    await assert_obeys(reconcile, begun)


async def test_a_key_that_costs_much_leaves_most_of_the_time_to_others() -> None:
    queue: WorkQueue[str] = WorkQueue()
    cost = {"dear": 0.03, "cheap": 0.0}
    spent = 0.0

    async def reconcile(key: str) -> None:
        nonlocal spent
        began = time.thread_time()
        while time.thread_time() - began < cost[key]:
            pass
        spent += cost[key]
        queue.add(key)
        await asyncio.sleep(0)

    queue.add("dear")
    queue.add("cheap")
    before = time.monotonic()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(1.0):
            await work(queue, reconcile, Rounds())
    assert spent < 0.4 * (time.monotonic() - before)
