"""Many calls, a few at a time."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from winkube.base.errors import WinkubeError

WIDTH: Final = 8


async def run_all(calls: Iterable[Callable[[], Awaitable[None]]], width: int = WIDTH) -> None:
    """Run every call even if some fail; then raise the first failure."""
    waiting = deque(calls)
    failures: list[WinkubeError] = []

    async def work() -> None:
        while waiting:
            call = waiting.popleft()
            try:
                await call()
            except WinkubeError as error:
                failures.append(error)

    async with asyncio.TaskGroup() as group:
        for number in range(min(width, len(waiting))):
            group.create_task(work(), name=f"parallel {number}")
    if failures:
        raise failures[0]
