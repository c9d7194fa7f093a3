import pytest

from winkube.base.types import JsonObject
from winkube.controllers.annotation import MAX_INT32, noted_number


def noting(text: str) -> JsonObject:
    return {"metadata": {"annotations": {"a": text}}}


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("007", 7), ("2147483647", MAX_INT32), ("0" * 5000 + "1", 1)],
)
def test_a_number_is_read(text: str, number: int) -> None:
    assert noted_number(noting(text), "a", most=MAX_INT32) == number


@pytest.mark.parametrize(
    "text", ["", "-1", "+1", "1.0", "²", "٣", "2147483648", "9" * 5000], ids=lambda text: text[:11]
)
def test_what_is_no_number_is_none(text: str) -> None:
    assert noted_number(noting(text), "a", most=MAX_INT32) is None
    assert noted_number({"metadata": {}}, "a", most=MAX_INT32) is None
