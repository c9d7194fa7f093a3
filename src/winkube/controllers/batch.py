"""Many small effects at once: failures are values, so that one does not stop its neighbours."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

from winkube.base.errors import WinkubeError

# No batch is larger: this many before others that wait get their turn.
SLICE: Final = 64

Item = TypeVar("Item")
# An error of one step, as a value.
Failure = WinkubeError


async def all_at_once(
    items: Iterable[Item], step: Callable[[Item], Awaitable[Failure | None]]
) -> list[Failure | None]:
    """What became of each item, in their order."""

    async def one(item: Item) -> Failure | None:
        return await step(item)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(item), name="one of many") for item in items]
    return [task.result() for task in tasks]


def first_failure(results: Iterable[Failure | None]) -> Failure | None:
    return next((each for each in results if each is not None), None)


async def slow_start(
    count: int,
    step: Callable[[], Awaitable[Failure | None]],
    yields: Callable[[], bool] = lambda: False,
) -> tuple[int, Failure | None]:
    """Do ``count`` steps in batches of 1, 2, 4 ...; stop after the first batch with a failure.

    When ``yields`` says that others wait, the rest is left for another time.
    """
    done, batch = 0, 1
    while done < count:
        if done >= SLICE - 1 and yields():
            break
        batch = min(batch, count - done, SLICE)
        results = await all_at_once(range(batch), lambda _: step())
        failures = [failure for failure in results if failure is not None]
        done += batch - len(failures)
        if failures:
            return done, failures[0]
        batch *= 2
    return done, None
