"""How much time a coroutine takes for itself, without what it waits for."""

import time
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

Result = TypeVar("Result")


class Meter:
    """Runs one awaitable; tasks it starts are not counted, for they are their own.

    ``exact`` is processor time, which is dear to ask for; else what another process took meanwhile
    counts, too.
    """

    def __init__(self, *, exact: bool = False) -> None:
        self.seconds = 0.0
        self.clock: Callable[[], float] = time.thread_time if exact else time.perf_counter

    async def run(self, work: Awaitable[Result]) -> Result:
        return await _Metered(work, self)


class _Metered(Awaitable[Result]):
    def __init__(self, work: Awaitable[Result], meter: Meter) -> None:
        self._work = work
        self._meter = meter

    def __await__(self) -> Generator[Any, Any, Result]:
        """Step through the work as ``yield from`` would, with a look at the clock around it."""
        steps, meter, clock = self._work.__await__(), self._meter, self._meter.clock
        error: BaseException | None = None
        while True:
            began = clock()
            try:
                waits_for = next(steps) if error is None else steps.throw(error)
            except StopIteration as end:
                result: Result = end.value
                return result
            finally:
                meter.seconds += clock() - began
            try:
                yield waits_for
                error = None
            except BaseException as raised:  # noqa: BLE001 - it is the work's to meet
                error = raised
