from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winkube.api.decode import clone
from winkube.api.errors import BadRequestError, RequestTooLargeError
from winkube.api.patch import MAX_OPERATIONS, PatchFailedError, json_patch, merge_into

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)


# The cases of RFC 7386, appendix A.
@pytest.mark.parametrize(
    ("doc", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch_follows_the_rfc(doc: Any, patch: Any, result: Any) -> None:
    assert merge_into(clone(doc), patch) == result


@given(json_values, json_values)
def test_merge_patch_is_idempotent_and_leaves_the_patch_alone(doc: Any, patch: Any) -> None:
    before = clone(patch)
    once = merge_into(doc, patch)
    assert merge_into(clone(once), patch) == once
    assert patch == before


@pytest.mark.parametrize(
    ("ops", "result"),
    [
        ([{"op": "add", "path": "/a", "value": 1}], {"a": 1, "l": [1, 2]}),
        ([{"op": "add", "path": "/l/1", "value": 9}], {"l": [1, 9, 2]}),
        ([{"op": "add", "path": "/l/-", "value": 9}], {"l": [1, 2, 9]}),
        ([{"op": "add", "path": "/l/2", "value": 9}], {"l": [1, 2, 9]}),
        ([{"op": "remove", "path": "/l/0"}], {"l": [2]}),
        ([{"op": "remove", "path": "/l/-1"}], {"l": [1]}),
        ([{"op": "add", "path": "/l/-1", "value": 9}], {"l": [1, 2, 9]}),
        ([{"op": "replace", "path": "/l/-1", "value": 9}], {"l": [1, 9]}),
        ([{"op": "replace", "path": "/none", "value": 1}], {"l": [1, 2], "none": 1}),
        ([{"op": "replace", "path": "/l/0", "value": {}}], {"l": [{}, 2]}),
        ([{"op": "replace", "path": "", "value": 7}], 7),
        ([{"op": "move", "from": "/l", "path": "/m"}], {"m": [1, 2]}),
        ([{"op": "copy", "from": "/l/0", "path": "/m"}], {"l": [1, 2], "m": 1}),
        ([{"op": "test", "path": "/l", "value": [1, 2]}], {"l": [1, 2]}),
        ([{"op": "test", "path": "/none", "value": None}], {"l": [1, 2]}),
        ([{"op": "add", "path": "/a~1b~0c", "value": 1}], {"a/b~c": 1, "l": [1, 2]}),
    ],
)
def test_json_patch_operations(ops: list[dict[str, Any]], result: Any) -> None:
    doc = {"l": [1, 2]}
    assert json_patch(doc, ops) == result
    assert doc == {"l": [1, 2]}


@pytest.mark.parametrize(
    "op",
    [
        {"op": "remove", "path": "/none"},
        {"op": "replace", "path": "/none/a", "value": 1},
        {"op": "remove", "path": "/l/-3"},
        {"op": "add", "path": "/l/7", "value": 1},
        {"op": "add", "path": "/none/a", "value": 1},
        {"op": "add", "path": "/l/x", "value": 1},
        {"op": "add", "path": "/l/99999999999999999999", "value": 1},
        {"op": "add", "path": "no-slash", "value": 1},
        {"op": "add", "path": "/a"},
        {"op": "test", "path": "/l", "value": [2]},
        {"op": "test", "path": "/l/0", "value": True},
        {"op": "move", "from": "/l", "path": "/l/0"},
        {"op": "explode", "path": "/a"},
        {"path": "/a"},
        {"op": ["add"], "path": "/a"},
        {"op": "add", "path": None, "value": 1},
    ],
    ids=str,
)
def test_an_operation_that_does_not_fit_is_refused(op: dict[str, Any]) -> None:
    with pytest.raises(PatchFailedError) as caught:
        json_patch({"l": [1, 2]}, [op])
    assert caught.value.code == 422


@pytest.mark.parametrize("ops", [{}, "text", [1], None])
def test_what_is_no_list_of_operations_is_a_bad_request(ops: Any) -> None:
    with pytest.raises(BadRequestError):
        json_patch({}, ops)


def test_too_many_operations_are_refused() -> None:
    with pytest.raises(RequestTooLargeError, match="maximum operations"):
        json_patch({}, [{"op": "test", "path": "", "value": {}}] * (MAX_OPERATIONS + 1))


@given(json_values, json_values)
def test_replacing_the_root_makes_any_document_of_any_other(doc: Any, other: Any) -> None:
    assert json_patch(doc, [{"op": "replace", "path": "", "value": other}]) == other


def test_patch_that_leaves_nothing_fails() -> None:
    with pytest.raises(PatchFailedError):
        json_patch({"a": 1}, [{"op": "remove", "path": ""}])


@pytest.mark.parametrize("last", [[], [{"op": "copy", "from": "/m", "path": "/c"}]])
def test_moves_do_not_nest_without_end(last: list[Any]) -> None:
    step = [
        {"op": "add", "path": "/n", "value": {}},
        {"op": "move", "from": "/m", "path": "/n/m"},
        {"op": "move", "from": "/n", "path": "/m"},
    ]
    assert json_patch({"m": {}}, step * 3)["m"] == {"m": {"m": {"m": {}}}}
    with pytest.raises(PatchFailedError):
        json_patch({"m": {}}, step * 3000 + last)
