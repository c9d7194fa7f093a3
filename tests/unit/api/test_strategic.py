"""Strategic merge: the expected halves of the golden files were written by kubectl itself."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from winkube.api.decode import clone
from winkube.api.errors import BadRequestError, UnexplainedError
from winkube.api.kinds import KINDS, Kind
from winkube.api.patch import strategic_merge
from winkube.api.schema import load_schema

DATA = Path(__file__).parents[2] / "data" / "patch"
CASES = sorted(path.name.removesuffix(".input.yaml") for path in DATA.glob("*.input.yaml"))
SCHEMA = load_schema()


def kind_of(name: str) -> Kind:
    found = KINDS.by_gvk("", "v1", name)
    assert found is not None
    return found


@pytest.mark.parametrize("case", CASES)
def test_the_result_is_kubectls(case: str) -> None:
    given_ = yaml.safe_load((DATA / f"{case}.input.yaml").read_text())
    expected = yaml.safe_load((DATA / f"{case}.output.yaml").read_text())
    doc, patch = given_["object"], given_["patch"]
    before = clone(patch)
    assert strategic_merge(SCHEMA, kind_of(doc["kind"]), doc, patch) == expected
    assert patch == before, "it may be made again, to what another has written meanwhile"


def test_an_element_without_its_merge_key_is_refused() -> None:
    doc = {"spec": {"containers": [{"name": "a"}]}}
    with pytest.raises(UnexplainedError, match="does not contain declared merge key: name"):
        strategic_merge(SCHEMA, kind_of("Pod"), doc, {"spec": {"containers": [{"image": "x"}]}})


def test_an_order_that_contradicts_the_patch_is_refused() -> None:
    patch = {
        "spec": {
            "$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
            "containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}],
        }
    }
    with pytest.raises(BadRequestError, match=r"doesn't match \$setElementOrder"):
        strategic_merge(SCHEMA, kind_of("Pod"), {"spec": {}}, patch)


@pytest.mark.parametrize(
    "patch",
    [
        {"$patch": "explode"},
        {"spec": {"$retainKeys": "name"}},
        {"spec": {"$setElementOrder/containers": 1}},
        {"spec": {"containers": ["text"]}},
        {"spec": {"$retainKeys": ["a"], "hostNetwork": True}},
    ],
    ids=["unknown directive", "retain", "order", "element", "retain forgets a key"],
)
def test_malformed_directives_are_refused(patch: dict[str, object]) -> None:
    with pytest.raises((BadRequestError, UnexplainedError)):
        strategic_merge(SCHEMA, kind_of("Pod"), {"spec": {"containers": [{"name": "a"}]}}, patch)


def test_directives_never_end_up_in_what_is_new() -> None:
    patch = {"spec": {"containers": [{"name": "a", "env": [{"name": "X", "$patch": "delete"}]}]}}
    assert strategic_merge(SCHEMA, kind_of("Pod"), {}, patch) == {
        "spec": {"containers": [{"name": "a", "env": []}]}
    }


containers = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("abcdef"), "image": st.sampled_from("xyz")}),
    unique_by=lambda container: container["name"],
    max_size=5,
)


@given(containers, containers)
def test_merging_by_name_loses_no_container_and_applying_again_changes_nothing(
    have: list[dict[str, str]], patched: list[dict[str, str]]
) -> None:
    doc, patch = {"spec": {"containers": have}}, {"spec": {"containers": patched}}
    once = strategic_merge(SCHEMA, kind_of("Pod"), doc, patch)
    wanted = {**{c["name"]: c["image"] for c in have}, **{c["name"]: c["image"] for c in patched}}
    assert {c["name"]: c["image"] for c in once["spec"]["containers"]} == wanted
    again = strategic_merge(SCHEMA, kind_of("Pod"), once, patch)
    assert {c["name"] for c in again["spec"]["containers"]} == set(wanted)
    assert len(again["spec"]["containers"]) == len(once["spec"]["containers"])
