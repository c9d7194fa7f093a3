from winkube.api.errors import InternalError
from winkube.controllers.batch import all_at_once, first_failure, slow_start


async def test_slow_start_stops_at_the_first_bad_batch() -> None:
    calls = 0

    async def fail_from_the_fourth() -> InternalError | None:
        nonlocal calls
        calls += 1
        return InternalError("no") if calls >= 4 else None

    done, failure = await slow_start(100, fail_from_the_fourth)
    assert (done, calls) == (3, 7)
    assert isinstance(failure, InternalError)


async def test_one_failure_does_not_stop_the_others() -> None:
    async def refuse_odd(number: int) -> InternalError | None:
        return InternalError(f"odd: {number}") if number % 2 else None

    results = await all_at_once(range(4), refuse_odd)
    assert [result is None for result in results] == [True, False, True, False]
    assert str(first_failure(results)) == "odd: 1"
    assert first_failure([None]) is None
