"""Turns taken fairly."""

import asyncio
import random
from collections import Counter

import pytest

from winkube.aio.fair import FairGate, FairQueue


async def test_a_short_line_does_not_wait_for_a_long_one() -> None:
    queue: FairQueue[str, str] = FairQueue()
    for number in range(1000):
        queue.put("flood", f"flood {number}")
    queue.put("small", "small")
    assert [await queue.get() for _ in range(3)] == ["flood 0", "small", "flood 1"]


async def test_an_item_that_comes_later_wakes_who_waits() -> None:
    queue: FairQueue[str, int] = FairQueue()
    async with asyncio.TaskGroup() as group:
        first, second = group.create_task(queue.get()), group.create_task(queue.get())
        await asyncio.sleep(0)
        queue.put("a", 1)
        queue.put("a", 2)
    assert {first.result(), second.result()} == {1, 2}


async def test_seats_go_round_the_flows() -> None:
    gate: FairGate[str] = FairGate(1)
    order: list[str] = []

    async def visit(flow: str) -> None:
        await gate.enter(flow)
        order.append(flow)
        await asyncio.sleep(0)
        gate.leave(flow)

    async with asyncio.TaskGroup() as group:
        for flow in ("flood",) * 20 + ("small",) * 2:
            group.create_task(visit(flow))
    assert order.index("small") <= 2
    assert [each for each in order[:6] if each == "small"] == ["small", "small"]
    assert len(order) == 22


async def test_who_gives_up_leaves_no_seat_behind() -> None:
    gate: FairGate[str] = FairGate(1)
    await gate.enter("first")
    async with asyncio.TaskGroup() as group:
        waits = [group.create_task(gate.enter(flow)) for flow in ("a", "b", "c")]
        await asyncio.sleep(0)
        waits[0].cancel()
        await asyncio.sleep(0)
        gate.leave("first")
        # It gives up in the moment the seat is given to it.
        waits[1].cancel()
    assert [task.cancelled() for task in waits] == [True, True, False]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await gate.enter("d")


async def test_one_flow_has_no_more_than_its_share_and_not_less_while_there_are_enough() -> None:
    gate: FairGate[str] = FairGate(8, share=2)
    inside: dict[str, int] = {"flood": 0, "other": 0}
    most = dict(inside)
    done = 0

    async def visit(flow: str) -> None:
        nonlocal done
        await gate.enter(flow)
        inside[flow] += 1
        most[flow] = max(most[flow], inside[flow])
        await asyncio.sleep(0)
        inside[flow] -= 1
        gate.leave(flow)
        done += 1

    async with asyncio.TaskGroup() as group:
        for number in range(60):
            group.create_task(visit("other" if number % 3 == 0 else "flood"))
    assert most == {"flood": 2, "other": 2}
    assert done == 60
    assert gate.waiting("flood") == 0


async def test_a_line_whose_first_gave_up_goes_on() -> None:
    gate: FairGate[str] = FairGate(4, share=1)
    await gate.enter("a")
    async with asyncio.TaskGroup() as group:
        first, second = (group.create_task(gate.enter("a")) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        gate.leave("a")
    assert second.done()


async def test_the_last_seats_are_for_flows_that_have_none() -> None:
    gate: FairGate[str] = FairGate(8, share=4)
    held: list[str] = []

    async def sit(flow: str) -> None:
        await gate.enter(flow)
        held.append(flow)

    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(sit(flow))
            for flow in ("a",) * 9 + ("b",) * 9 + ("c",) * 9 + ("d",) * 9
        ]
        await asyncio.sleep(0)
        assert Counter(held) == {"a": 4, "b": 2, "c": 1, "d": 1}
        # Who has fewest is next, however long the others have waited.
        gate.leave("a")
        gate.leave("d")
        await asyncio.sleep(0)
        assert held[8:] == ["d"]
        for task in tasks:
            task.cancel()


async def test_a_weight_takes_several_seats_and_gives_them_back() -> None:
    gate: FairGate[str] = FairGate(8, share=4)
    await gate.enter("a", 9)
    async with asyncio.TaskGroup() as group:
        others = [group.create_task(gate.enter("b", 3)) for _ in range(3)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in others)
        gate.leave("a", 9)
        await asyncio.sleep(0)
        assert [task.done() for task in others] == [True, True, False]
        gate.leave("b", 3)
    gate.leave("b", 3)
    gate.leave("b", 3)
    await gate.enter("c", 8)


async def test_everybody_is_seated_whatever_is_taken_and_given_up() -> None:
    chance = random.Random(7)
    gate: FairGate[int] = FairGate(12, share=4)
    done = 0

    async def visit(flow: int, weight: int) -> None:
        nonlocal done
        await gate.enter(flow, weight)
        try:
            for _ in range(chance.randrange(4)):
                await asyncio.sleep(0)
        finally:
            done += 1
            gate.leave(flow, weight)

    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(visit(chance.randrange(9), chance.randrange(1, 6)))
            for _ in range(500)
        ]
        await asyncio.sleep(0)
        given_up = [task for task in chance.sample(tasks, 100) if not task.done() and task.cancel()]
    assert done >= 500 - len(given_up)
    assert not any(gate.waiting(flow) for flow in range(9))
    await gate.enter(0, 12)
