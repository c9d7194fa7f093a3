"""The keyed work queue."""

import asyncio

from winkube.aio.backoff import Backoff
from winkube.aio.queue import WorkQueue


async def test_a_key_added_twice_is_one_piece_of_work() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    queue.add("a")
    async with queue.take() as key:
        assert key == "a"
    assert len(queue) == 0


async def test_a_key_added_while_it_runs_is_queued_again_afterwards() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    async with queue.take():
        queue.add("a")
        assert len(queue) == 0
    assert len(queue) == 1


async def test_two_workers_never_hold_the_same_key() -> None:
    queue: WorkQueue[int] = WorkQueue()
    held: set[int] = set()

    async def worker() -> None:
        for _ in range(50):
            async with queue.take() as key:
                assert key not in held
                held.add(key)
                queue.add(key)
                await asyncio.sleep(0)
                held.discard(key)

    queue.add(1)
    queue.add(2)
    async with asyncio.TaskGroup() as group:
        group.create_task(worker())
        group.create_task(worker())


async def test_retry_backs_off_and_forget_starts_over() -> None:
    queue: WorkQueue[str] = WorkQueue(Backoff(first=1.0, factor=2.0, ceiling=5.0))
    assert [queue.retry("a") for _ in range(4)] == [1.0, 2.0, 4.0, 5.0]
    queue.forget("a")
    assert queue.retry("a") == 1.0


async def test_the_earliest_of_several_delays_wins() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("a", 60)
    queue.add_after("a", 0)
    queue.add_after("a", 30)
    async with asyncio.timeout(1), queue.take() as key:
        assert key == "a"


async def test_a_key_that_rests_is_handed_out_later_and_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    async with queue.take():
        queue.rest("a", 0.01)
        queue.add("a")
    queue.add("a")
    queue.add("b")
    async with queue.take() as key:
        assert key == "b"
    async with asyncio.timeout(5), queue.take() as key:
        assert key == "a"
    assert len(queue) == 0


async def test_a_key_that_rested_without_being_added_is_not_handed_out() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    async with queue.take():
        queue.rest("a", 0.0)
    await asyncio.sleep(0.01)
    assert len(queue) == 0
    queue.add("a")
    assert len(queue) == 1


async def test_flows_take_turns() -> None:
    queue: WorkQueue[str] = WorkQueue(flow=lambda key: key.partition("/")[0])
    for number in range(1_000):
        queue.add(f"flood/{number}")
    queue.add("small/1")
    taken = []
    for _ in range(3):
        async with queue.take() as key:
            taken.append(key)
    assert taken == ["flood/0", "small/1", "flood/1"]
