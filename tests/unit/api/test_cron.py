from datetime import UTC, datetime

import pytest

from winkube.api.cron import CronError, load_zone, parse_schedule


def following(schedule: str, after: str, zone: str | None = None, count: int = 1) -> list[str]:
    moment: float | None = datetime.fromisoformat(after).timestamp()
    found = []
    for _ in range(count):
        assert moment is not None
        moment = parse_schedule(schedule, zone).next(moment)
        found.append("never" if moment is None else _shown(moment))
    return found


def _shown(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S")


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        ("*/15 * * * *", "2024-01-01T00:00:30+00:00", "2024-01-01T00:15:00"),
        ("0 0 * * *", "2024-01-01T00:00:00+00:00", "2024-01-02T00:00:00"),
        ("0 9 * * mon-FRI", "2024-01-05T10:00:00+00:00", "2024-01-08T09:00:00"),
        ("0 0 29 2 ?", "2024-03-01T00:00:00+00:00", "2028-02-29T00:00:00"),
        ("0 0 13 * 5", "2024-01-01T00:00:00+00:00", "2024-01-05T00:00:00"),
        ("0 0 */2 * 5", "2024-01-01T12:00:00+00:00", "2024-01-03T00:00:00"),
        ("59 23 31 2 *", "2024-01-01T00:00:00+00:00", "never"),
        ("@hourly", "2024-01-01T00:30:00+00:00", "2024-01-01T01:00:00"),
        ("@every 1h30m10.5s", "2024-01-01T00:00:00.400+00:00", "2024-01-01T01:30:10"),
        ("5/20 * * * *", "2024-01-01T00:00:00+00:00", "2024-01-01T00:05:00"),
    ],
)
def test_next_time(schedule: str, after: str, expected: str) -> None:
    assert following(schedule, after) == [expected]


def test_schedule_follows_its_time_zone() -> None:
    assert following("0 9 * * *", "2024-01-01T00:00:00+00:00", "Asia/Shanghai") == [
        "2024-01-01T01:00:00"
    ]
    assert following("TZ=Asia/Shanghai 0 9 * * *", "2024-01-01T00:00:00+00:00") == [
        "2024-01-01T01:00:00"
    ]


def test_skipped_hour_runs_nothing_and_a_repeated_one_runs_twice() -> None:
    zone = "America/New_York"
    assert following("30 2 * * *", "2024-03-10T00:00:00-05:00", zone) == ["2024-03-11T06:30:00"]
    assert following("30 1 * * *", "2024-11-03T00:00:00-04:00", zone, 2) == [
        "2024-11-03T05:30:00",
        "2024-11-03T06:30:00",
    ]


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("", "empty spec string"),
        ("* * *", "expected exactly 5 fields, found 3: [* * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("9-3 * * * *", "beginning of range (9) beyond end of range (3): 9-3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("@never", "unrecognized descriptor: @never"),
        ("@every x", 'failed to parse duration @every x: time: invalid duration "x"'),
        ("TZ=Nowhere 0 0 * * *", "provided bad location Nowhere: unknown time zone Nowhere"),
    ],
)
def test_what_is_no_schedule(schedule: str, message: str) -> None:
    with pytest.raises(CronError) as caught:
        parse_schedule(schedule)
    assert str(caught.value) == message


def test_unknown_time_zone() -> None:
    with pytest.raises(CronError, match="unknown time zone Mars/Base"):
        load_zone("Mars/Base")
    with pytest.raises(CronError, match="unknown time zone"):
        load_zone("../etc/passwd")
