"""How much time a coroutine takes for itself, without what it waits for."""

import time
from collections.abc import Awaitable, Callable, Generator, Hashable
from typing import Any, TypeVar

from winkube.aio.rounds import Rounds

Result = TypeVar("Result")


class Meter:
    """Runs one awaitable; tasks it starts are not counted, for they are their own.

    ``exact`` is processor time, which is dear to ask for; else what another process took meanwhile
    counts, too. With ``rounds`` it does its steps when it is the turn of ``flow``.
    """

    def __init__(
        self, *, exact: bool = False, rounds: Rounds | None = None, flow: Hashable = None
    ) -> None:
        self.seconds = 0.0
        self.clock: Callable[[], float] = time.thread_time if exact else time.perf_counter
        self.rounds = rounds
        self.flow = flow

    async def run(self, work: Awaitable[Result]) -> Result:
        return await _Metered(work, self)


class _Metered(Awaitable[Result]):
    def __init__(self, work: Awaitable[Result], meter: Meter) -> None:
        self._work = work
        self._meter = meter

    def __await__(self) -> Generator[Any, Any, Result]:
        """Step through the work as ``yield from`` would, with a look at the clock around it."""
        steps, meter, clock = self._work.__await__(), self._meter, self._meter.clock
        rounds = meter.rounds
        error: BaseException | None = None
        while True:
            if rounds is not None and rounds.full and error is None:
                error = yield from _turn(rounds, meter.flow)
            began = clock()
            try:
                waits_for = next(steps) if error is None else steps.throw(error)
            except StopIteration as end:
                result: Result = end.value
                return result
            finally:
                took = clock() - began
                meter.seconds += took
                if rounds is not None:
                    rounds.spend(took)
            try:
                yield waits_for
                error = None
            except BaseException as raised:  # noqa: BLE001 - it is the work's to meet
                error = raised


def _turn(rounds: Rounds, flow: Hashable) -> Generator[Any, Any, BaseException | None]:
    """Stand in line; what ended that early (a cancellation) is the work's to meet."""
    try:
        yield from rounds.turn(flow).__await__()
    except BaseException as raised:  # noqa: BLE001
        return raised
    return None
