import pytest

from winkube.api.errors import BadRequestError
from winkube.api.go.duration import format_duration, parse_duration

NANO = 10**9


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1500, "1.5µs"),
        (250_000_000, "250ms"),
        (15 * NANO, "15s"),
        (15_004_000_000, "15.004s"),
        (90 * NANO, "1m30s"),
        (3600 * NANO, "1h0m0s"),
        (-NANO, "-1s"),
    ],
)
def test_durations_are_written_and_read_as_go_does(nanoseconds: int, text: str) -> None:
    assert format_duration(nanoseconds) == text
    assert parse_duration(text) == pytest.approx(nanoseconds / NANO)


@pytest.mark.parametrize("text", ["", "15", "1x", "s", "1s 2s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(BadRequestError):
        parse_duration(text)
