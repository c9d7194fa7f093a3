"""Run work that must not take its neighbours down: the one place that catches everything."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, TypeVar

from winkube.aio.meter import Meter
from winkube.aio.queue import WorkQueue
from winkube.aio.rounds import Rounds

# A key that takes this long by itself rests so many times as long: none takes a process over.
NOTICEABLE_SECONDS: Final = 0.01
REST: Final = 9
LONGEST_REST: Final = 10.0

Key = TypeVar("Key", bound=Hashable)
log = logging.getLogger(__name__)


async def work(
    queue: WorkQueue[Key], reconcile: Callable[[Key], Awaitable[None]], rounds: Rounds | None = None
) -> None:
    """Serve the queue until cancelled; an error about one key delays that key alone.

    With ``rounds``, which those share that share a loop, long works take turns, and a key that
    takes long by itself is looked at less often.
    """
    while True:
        _obey_cancellation()
        async with queue.take() as key:
            # A look at the wall clock first: a busy machine alone makes nothing dear.
            exact = key in queue.suspects
            meter = Meter(exact=exact, rounds=rounds, flow=queue.flow_of(key))
            try:
                await meter.run(reconcile(key))
            except Exception as error:
                delay = queue.retry(key)
                log.warning(
                    "reconcile failed", extra={"key": key, "error": repr(error), "retry": delay}
                )
                log.debug("reconcile failed", exc_info=True)
            else:
                queue.forget(key)
            if meter.seconds <= NOTICEABLE_SECONDS:
                queue.suspects.discard(key)
            elif rounds is None:
                continue
            elif key in queue.suspects:
                queue.rest(key, min(meter.seconds * REST, LONGEST_REST))
            else:
                queue.suspects.add(key)


async def repeat(interval: float, step: Callable[[], Awaitable[None]], *, name: str) -> None:
    """Call ``step`` every ``interval`` seconds until cancelled, also after a failure."""
    while True:
        _obey_cancellation()
        try:
            await step()
        except Exception as error:
            log.warning("periodic step failed", extra={"step": name, "error": repr(error)})
            log.debug("periodic step failed", exc_info=True)
        await asyncio.sleep(interval)


def _obey_cancellation() -> None:
    """Go on ending when an error hid the order to end.

    A TaskGroup that is cancelled while one of its tasks fails raises the failure, a request that is
    cancelled while its connection breaks raises that; the cancellation is never seen again.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
