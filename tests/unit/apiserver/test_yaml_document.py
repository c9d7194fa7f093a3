"""Bodies in YAML: the first document, bounded whatever its aliases say."""

import pytest

from winkube.api.errors import ApiError
from winkube.apiserver.media.yaml_document import YamlObject, parse_yaml


def test_keys_become_strings_and_whole_floats_whole_numbers() -> None:
    assert parse_yaml(b"{1: a, true: b, 1.5: c, d: 1e3, e: 1.0, f: 12:30, g: 0x10, h: 010}") == {
        "1": "a",
        "true": "b",
        "1.5": "c",
        "d": 1000,
        "e": 1,
        "f": "12:30",
        "g": 16,
        "h": 8,
    }


def test_only_the_first_document_counts() -> None:
    assert parse_yaml(b"a: 1\n---\nb: [") == {"a": 1}


def test_keys_that_stand_twice_are_told_by_line() -> None:
    found = parse_yaml(b"a: 1\nb:\n  c: 1\n  c: 2\na: 2\n")
    assert isinstance(found, YamlObject)
    assert found == {"a": 2, "b": {"c": 2}}
    assert found.repeated == (
        'line 4: key "c" already set in map',
        'line 5: key "a" already set in map',
    )


def test_aliases_are_written_out() -> None:
    assert parse_yaml(b"a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}\n") == {
        "a": {"b": 1},
        "c": {"b": 1},
        "d": {"b": 1, "e": 2},
    }


def _laughs(levels: int) -> bytes:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, levels)
    ]
    return "\n".join(lines).encode()


@pytest.mark.parametrize(
    "text",
    [
        _laughs(9),
        b"a: &a [*a]\n",
        b"a: &a " + b"x" * 1_000_000 + b"\nb: [" + b", ".join([b"*a"] * 50) + b"]\n",
        b"[" * 500 + b"]" * 500,
    ],
    ids=["a billion laughs", "itself", "long text many times", "deep"],
)
def test_what_grows_beyond_measure_is_refused(text: bytes) -> None:
    with pytest.raises(ApiError):
        parse_yaml(text)
