"""What Go's parser says of texts that are no times."""

import pytest

from winkube.api.go.time import canonical_time, is_micro_time, is_time, time_fault

LAYOUT = "2006-01-02T15:04:05Z07:00"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("x", f'parsing time "x" as "{LAYOUT}": cannot parse "x" as "2006"'),
        ("2020-13-01T00:00:00Z", 'parsing time "2020-13-01T00:00:00Z": month out of range'),
        ("2020-01-01 0", f'parsing time "2020-01-01 0" as "{LAYOUT}": cannot parse " 0" as "T"'),
        ("2020-01-01T24:00:00Z", 'parsing time "2020-01-01T24:00:00Z": hour out of range'),
        ("2020-01-01T00:00:00Zx", 'parsing time "2020-01-01T00:00:00Zx": extra text: "x"'),
    ],
)
def test_faults(text: str, fault: str) -> None:
    assert not is_time(text)
    assert time_fault(text) == fault


def test_a_micro_time_has_six_digits() -> None:
    assert is_micro_time("2020-01-01T00:00:00.000000Z")
    assert not is_micro_time("2020-01-01T00:00:00Z")
    assert not is_micro_time("2020-01-01T00:00:00.0000000Z")
    assert time_fault("2020-01-01T00:00:00Z", micro=True).endswith('cannot parse "Z" as ".000000"')


@pytest.mark.parametrize(
    ("text", "micro", "kept"),
    [
        ("2020-01-01T00:00:00Z", False, "2020-01-01T00:00:00Z"),
        ("2020-01-01T00:00:00.999999999Z", False, "2020-01-01T00:00:00Z"),
        ("2020-01-01T00:00:00,5Z", False, "2020-01-01T00:00:00Z"),
        ("2020-01-01T02:00:00+02:00", False, "2020-01-01T00:00:00Z"),
        ("0099-01-01T23:59:59.9-23:59", False, "0099-01-02T23:58:59Z"),
        ("9999-12-31T23:59:59-01:00", False, "9999-12-31T23:59:59-01:00"),
        ("2020-01-01T00:00:00.000001Z", True, "2020-01-01T00:00:00.000001Z"),
        ("2020-01-01T00:00:00.000001+01:00", True, "2019-12-31T23:00:00.000001Z"),
    ],
)
def test_times_are_kept_in_utc(text: str, micro: bool, kept: str) -> None:
    assert canonical_time(text, micro=micro) == kept
