import pytest

from winkube.api.decode import MAX_DEPTH, clone, parse_json
from winkube.api.errors import BadRequestError


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"nul", b"{'a': 1}", b"\xff\xfe", b'{"a": NaN}', b"[1,]", b"\x00"],
)
def test_malformed_json_is_a_bad_request(data: bytes) -> None:
    with pytest.raises(BadRequestError):
        parse_json(data)


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 900, 5000, 100_000])
def test_deep_nesting_is_a_bad_request(opening: bytes, depth: int) -> None:
    closing = b"]" if opening == b"[" else b"}"
    with pytest.raises(BadRequestError):
        parse_json(opening * depth + (b"1" if opening != b"[" else b"") + closing * depth)


def test_a_wide_document_is_no_deep_one() -> None:
    assert len(parse_json(b"[" + b",".join([b"{}"] * 5000) + b"]")) == 5000
    assert parse_json(b'"' + b"[" * 5000 + b'"') == "[" * 5000


def test_a_clone_shares_nothing() -> None:
    original = {"a": [{"b": 1}]}
    copy = clone(original)
    copy["a"][0]["b"] = 2
    assert original == {"a": [{"b": 1}]}
