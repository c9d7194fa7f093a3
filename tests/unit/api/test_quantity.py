from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winkube.api.quantity import (
    QuantityError,
    canonical_quantity,
    format_quantity,
    parse_quantity,
    to_bytes,
    to_milli,
)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"), ("100m", "100m"), ("1000m", "1"), ("0.5", "500m"), (".5", "500m"),
        ("1.5", "1500m"), ("1.", "1."), ("+1", "+1"), ("-1", "-1"), ("1500", "1500"),
        ("1000", "1k"), ("100000", "100k"), ("1Ki", "1Ki"), ("1024Ki", "1Mi"),
        ("1.5Gi", "1536Mi"), ("0.5Gi", "512Mi"), ("100M", "100M"), ("1e3", "1e3"),
        ("12e6", "12e6"), ("1E3", "1E3"), ("1E", "1E"), ("128Mi", "128Mi"), ("0.1Ki", "102400m"),
        ("1000Ki", "1000Ki"), ("5n", "5n"), ("1u", "1u"), ("0.0000000001", "1n"),
        ("9223372036854775807", "9223372036854775807"), ("99E", "99E"), ("47.707M", "47.707M"),
        ("99999999999999Ei", "9223372036854775807"), ("1.500", "1.500"), ("007", "007"),
        (".814E", "814P"), ("1.501", "1.501"),
        (" 1Gi ", "1Gi"), ("1e30", "1e30"), ("10e30", "10e30"), ("1000e30", "1e33"),
        (2, "2"), (0.25, "250m"), ("3Gi", "3Gi"), ("300Mi", "300Mi"), ("-500m", "-500m"),
    ],
)  # fmt: skip
def test_the_canonical_form_is_upstreams(text: str | float, canonical: str) -> None:
    assert canonical_quantity(text) == canonical


@pytest.mark.parametrize(
    "text",
    ["", " ", "1mm",
     "1 Gi", "Gi", "1gi", "1KiB", "--1", "1.2.3", "1e", "e3", "0x10", "1_000", "１", "nan",
     "inf", "1e999999999", "9" * 100, "1\n", "1Ki\x00", "true"],
)  # fmt: skip
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse_quantity(text)
    assert caught.value.code == 400


def test_milli_and_bytes_round_up() -> None:
    assert to_milli("250m") == 250
    assert to_milli("1") == 1000
    assert to_milli("1u") == 1
    assert to_bytes("1Gi") == 1024**3
    assert to_bytes("1500m") == 2
    assert to_bytes("1k") == 1000


@given(st.integers(-(2**62), 2**62), st.sampled_from(["DecimalSI", "BinarySI", "DecimalExponent"]))
def test_formatting_loses_nothing(number: int, family: str) -> None:
    assert parse_quantity(format_quantity(number, family)) == number


@given(
    st.integers(0, 10**6),
    st.integers(0, 999),
    st.sampled_from(["", "m", "k", "M", "Ki", "Mi", "Gi", "e3", "n", "u"]),
)
def test_the_canonical_form_is_equal_and_stable(whole: int, rest: int, suffix: str) -> None:
    text = f"{whole}.{rest:03}{suffix}"
    canonical = canonical_quantity(text)
    assert canonical_quantity(canonical) == canonical
    if suffix not in ("n", "u"):
        assert parse_quantity(canonical) == parse_quantity(text)


def test_a_known_letter_in_the_wrong_place_is_a_suffix_problem() -> None:
    with pytest.raises(QuantityError, match="unable to parse quantity's suffix"):
        parse_quantity("1mm")


def test_a_sum_of_fractions_is_exact() -> None:
    assert sum((parse_quantity("100m") for _ in range(10)), Fraction(0)) == 1
