import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winkube.api.go.json_syntax import syntax_fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "unexpected end of JSON input"),
        ('{"a":', "unexpected end of JSON input"),
        ("{a}", "invalid character 'a' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("[1] x", "invalid character 'x' after top-level value"),
        ("tru3", "invalid character '3' in literal true (expecting 'e')"),
        ("-x", "invalid character 'x' in numeric literal"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1ex", "invalid character 'x' in exponent of numeric literal"),
        ('"\\q"', "invalid character 'q' in string escape code"),
        ('"\\u00g0"', "invalid character 'g' in \\u hexadecimal character escape"),
        ('"\n"', "invalid character '\\n' in string literal"),
    ],
)
def test_faults_are_told_in_the_words_of_gos_decoder(text: str, fault: str) -> None:
    assert syntax_fault(text) == fault


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_a_text_that_is_json_and_was_cut_has_an_unexpected_end(value: object) -> None:
    text = json.dumps([value])
    assert syntax_fault(text[:-1]) == "unexpected end of JSON input"
