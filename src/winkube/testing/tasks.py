"""Run components beside a test, and wait for what they should bring about."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def running(*work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run these until the block ends; an error in one of them fails the test."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(item) for item in work]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()


async def eventually(holds: Callable[[], object], *, seconds: float = 30.0) -> None:
    """Let other tasks run until ``holds()`` is true."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - any state may be waited for, not only events
            await asyncio.sleep(0.001)
