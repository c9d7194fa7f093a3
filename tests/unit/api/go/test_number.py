import pytest

from winkube.api.go.number import NumberError, parse_int, parse_uint


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("+7", 7), ("-007", -7), (str(2**63 - 1), 2**63 - 1), ("0" * 5000 + "1", 1)],
    ids=lambda value: str(value)[:20],
)
def test_a_number_is_read(text: str, number: int) -> None:
    assert parse_int(text) == number


@pytest.mark.parametrize("text", ["", "-", "1_0", " 1", "1 ", "1\n", "²", "٣", "1.0", "0x1"])
def test_what_only_python_reads_is_no_number(text: str) -> None:
    for parse in (parse_int, parse_uint):
        with pytest.raises(NumberError, match="invalid syntax"):
            parse(text)


@pytest.mark.parametrize("text", [str(2**63), str(-(2**63) - 1), "9" * 5000, "-" + "9" * 5000])
def test_a_number_has_64_bits(text: str) -> None:
    with pytest.raises(NumberError, match="value out of range") as caught:
        parse_int(text)
    assert caught.value.nearest == (-(2**63) if text.startswith("-") else 2**63 - 1)


def test_a_number_without_a_sign_may_be_twice_as_large() -> None:
    assert parse_uint(str(2**64 - 1)) == 2**64 - 1
    assert parse_uint("65535", 16) == 65535
    for text, fault in (("65536", "value out of range"), ("-1", "invalid syntax")):
        with pytest.raises(NumberError, match=f'parsing "{text}": {fault}'):
            parse_uint(text, 16)
