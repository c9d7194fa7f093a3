"""Works that would hold up a loop take turns, and whatever else there is goes on."""

import asyncio

import pytest

from winkube.aio.meter import Meter
from winkube.aio.rounds import Rounds

# Every step is more than a round has time for.
SHORT = -1.0


async def steps(count: int, done: list[str], name: str) -> None:
    for _ in range(count):
        done.append(name)
        await asyncio.sleep(0)


async def test_others_wait_for_one_step_and_not_for_all_works() -> None:
    rounds = Rounds(SHORT)
    done: list[str] = []
    seen: list[int] = []
    async with asyncio.TaskGroup() as group:
        for _ in range(10):
            group.create_task(Meter(rounds=rounds).run(steps(20, done, "work")))
        while len(done) < 200:
            before = len(done)
            await asyncio.sleep(0)
            seen.append(len(done) - before)
    assert max(seen) == 1


async def test_a_quiet_flow_does_not_stand_behind_a_busy_one() -> None:
    rounds = Rounds(SHORT)
    done: list[str] = []
    async with asyncio.TaskGroup() as group:
        for _ in range(50):
            loud = Meter(rounds=rounds, flow="loud")
            group.create_task(loud.run(steps(20, done, "loud")))
        await asyncio.sleep(0)
        quiet = Meter(rounds=rounds, flow="quiet")
        await group.create_task(quiet.run(steps(10, done, "quiet")))
        assert done.count("loud") < 4 * done.count("quiet")
    assert len(done) == 1010


async def test_lines_end_when_there_is_time_again() -> None:
    rounds = Rounds(60.0)
    await Meter(rounds=rounds).run(steps(5, [], "short"))
    assert not rounds.full
    rounds.spend(61.0)
    assert rounds.full
    await rounds.turn("anybody")
    await asyncio.sleep(0)
    assert not rounds.full


async def test_lines_of_short_steps_end_soon() -> None:
    rounds = Rounds(60.0)
    done: list[str] = []
    rounds.spend(61.0)
    async with asyncio.TaskGroup() as group:
        for _ in range(1000):
            group.create_task(Meter(rounds=rounds).run(steps(1, done, "short")))
        passed = 0
        while len(done) < 1000:
            await asyncio.sleep(0)
            passed += 1
    assert passed < 200


async def test_who_gives_up_in_line_is_passed_over_and_learns_of_it_in_his_work() -> None:
    rounds = Rounds(SHORT)
    met: list[str] = []

    async def careful() -> None:
        try:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            met.append("cancelled")
            raise

    async with asyncio.TaskGroup() as group:
        first = group.create_task(Meter(rounds=rounds).run(careful()))
        await asyncio.sleep(0)
        rounds.spend(0)
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
    assert met == ["cancelled"]
    with pytest.raises(asyncio.CancelledError):
        await first
    async with asyncio.timeout(10):
        await Meter(rounds=rounds).run(steps(3, met, "other"))
    assert met.count("other") == 3
