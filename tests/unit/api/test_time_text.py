"""What Go's parser says of texts that are no times."""

import pytest

from winkube.api.time_text import is_micro_time, is_time, time_fault

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
