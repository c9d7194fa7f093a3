"""A text read with care keeps what the fast parser forgets."""

import orjson
import pytest

from winkube.api.decode import MalformedError, parse_json
from winkube.api.go.text import json_number, printed
from winkube.api.go.written import (
    WrittenNumber,
    plain_numbers,
    plain_objects,
    read_written,
    written,
)


def test_numbers_keep_their_spelling() -> None:
    found = read_written(b'{"a":1e3,"b":99999999999999999999,"c":7,"d":1.50}')
    assert {key: written(value) for key, value in found.items()} == {
        "a": "1e3",
        "b": "99999999999999999999",
        "c": 7,
        "d": "1.50",
    }
    assert isinstance(found["b"], WrittenNumber)


def test_plain_again_the_fast_serialiser_takes_them() -> None:
    found = plain_numbers(plain_objects(read_written(b'{"a":[1.5,{"b":1e3}]}')))
    assert orjson.dumps(found) == b'{"a":[1.5,{"b":1000.0}]}'


def test_an_object_written_twice_is_read_into_the_first() -> None:
    found = read_written(b'{"a":{"x":1,"y":1},"a":{"y":2},"b":1,"b":2}')
    assert found == {"a": {"x": 1, "y": 2}, "b": 2}
    assert len(found.pairs) == 4


@pytest.mark.parametrize(
    ("text", "value"),
    [(b'{"a":"\\ud800"}', {"a": "\ufffd"}), (b'{"a":"\xff"}', {"a": "\ufffd"})],
    ids=["half a pair", "no utf-8"],
)
def test_broken_text_is_replaced(text: bytes, value: object) -> None:
    assert parse_json(text) == value


def test_what_is_no_json_is_still_refused() -> None:
    with pytest.raises(MalformedError):
        parse_json(b'{"a":\xff}')


@pytest.mark.parametrize(
    ("number", "json_text", "shown"),
    [
        (1e20, "100000000000000000000", "1e+20"),
        (1e21, "1e+21", "1e+21"),
        (1000.0, "1000", "1000"),
        (1e6, "1000000", "1e+06"),
        (1e-7, "1e-7", "1e-07"),
        (0.5, "0.5", "0.5"),
    ],
)
def test_floats_are_written_as_go_does(number: float, json_text: str, shown: str) -> None:
    assert json_number(number) == json_text
    assert printed(number) == shown
