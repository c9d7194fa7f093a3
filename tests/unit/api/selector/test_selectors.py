import pytest
from hypothesis import given
from hypothesis import strategies as st

from winkube.api.errors import BadRequestError
from winkube.api.kinds import KINDS
from winkube.api.selector.fields import parse_field_selector
from winkube.api.selector.labels import (
    LabelSelector,
    from_label_selector,
    from_match_labels,
    parse_label_selector,
)

LABELS = {"app": "web", "tier": "front", "n": "5", "empty": ""}
POD = KINDS.by_gvk("", "v1", "Pod")
NODE = KINDS.by_gvk("", "v1", "Node")


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True), ("  ", True), ("app", True), ("!app", False), ("! nothing", True),
        ("app=web", True), ("app==web", True), ("app = web", True), ("app=api", False),
        ("app!=web", False), ("app!=api", True), ("other!=x", True), ("other=x", False),
        ("app in (web,api)", True), ("app in ( web , api )", True), ("app in (api)", False),
        ("app notin (api)", True), ("other notin (api)", True), ("app notin (web)", False),
        ("n>4", True), ("n>5", False), ("n<6", True), ("app>4", False), ("other<4", False),
        ("empty=", True), ("empty in ()", True), ("empty in (,x)", True), ("app=", False),
        ("app=web,tier=front", True), ("app=web,tier=back", False), ("app,tier,!x", True),
        ("kubernetes.io/os=linux", False), ("app\0=web", True),
        ("in=x", False), ("in in (x)", False),
    ],
)  # fmt: skip
def test_label_selector_text(text: str, matches: bool) -> None:
    assert parse_label_selector(text).matches(LABELS) is matches


@pytest.mark.parametrize(
    "text",
    [",", "=x", "a=b=c", "a in b", "a in (b", "a in b)", "a b", "a=(b)", "a=b,", "a>x", "!", "!=x",
     "a in (b c)", "-a=b", "a/b/c=d", "/a=b", "a=-b", "a" * 64, "a=" + "b" * 64, "../a",
     "a>99999999999999999999999", "(a)", "a in ((b))"],
)  # fmt: skip
def test_malformed_label_selectors_are_bad_requests(text: str) -> None:
    with pytest.raises(BadRequestError, match=r"unable to parse requirement|found '.*', expected"):
        parse_label_selector(text)


def test_a_missing_selector_selects_nothing_and_an_empty_one_everything() -> None:
    assert not from_label_selector(None).matches(LABELS)
    assert from_label_selector({}).matches(LABELS)
    assert from_label_selector({}).empty
    assert not from_match_labels({}).matches(LABELS)
    assert not from_match_labels(None).matches(LABELS)
    assert from_match_labels({"app": "web"}).matches(LABELS)


def test_expressions_of_a_label_selector() -> None:
    selector = from_label_selector(
        {
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "tier", "operator": "In", "values": ["front"]},
                {"key": "x", "operator": "DoesNotExist"},
                {"key": "n", "operator": "Exists"},
                {"key": "n", "operator": "NotIn", "values": ["6"]},
            ],
        }
    )
    assert selector.matches(LABELS)
    assert not selector.matches({**LABELS, "x": ""})
    assert not selector.matches(None)
    with pytest.raises(BadRequestError, match="not a valid label selector operator"):
        from_label_selector({"matchExpressions": [{"key": "a", "operator": "Like"}]})


@given(st.text(max_size=40))
def test_any_text_is_a_selector_or_a_bad_request(text: str) -> None:
    try:
        selector = parse_label_selector(text)
    except BadRequestError:
        return
    assert isinstance(selector, LabelSelector)
    assert selector.matches({}) in (True, False)


words = st.from_regex(r"[a-z][a-z0-9]{0,5}", fullmatch=True).filter(
    lambda word: word not in ("in", "notin")
)


@given(st.dictionaries(words, words, max_size=4))
def test_equality_written_out_matches_what_it_was_written_from(labels: dict[str, str]) -> None:
    text = ",".join(f"{key}={value}" for key, value in labels.items())
    assert parse_label_selector(text).matches(labels)


RUNNING = {
    "metadata": {"name": "a", "namespace": "x"},
    "spec": {"nodeName": "win-1", "restartPolicy": "Always"},
    "status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]},
}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True), ("spec.nodeName=win-1", True), ("spec.nodeName==win-1", True),
        ("spec.nodeName!=win-1", False), ("status.phase!=Failed,status.phase!=Succeeded", True),
        ("metadata.name=a,metadata.namespace=x", True), ("metadata.name=b", False),
        ("spec.hostNetwork=false", True), ("status.podIPs=10.0.0.1", False),
        ("status.nominatedNodeName=", True), ("spec.nodeName=", False),
    ],
)  # fmt: skip
def test_field_selectors_of_pods(text: str, matches: bool) -> None:
    assert parse_field_selector(text, POD).matches(RUNNING) is matches


def test_a_field_selector_tells_the_value_it_fixes() -> None:
    selector = parse_field_selector("spec.nodeName=win-1,metadata.name!=b", POD)
    assert selector.exact("spec.nodeName") == "win-1"
    assert selector.exact("metadata.name") is None


def test_unknown_fields_are_refused_by_kind() -> None:
    with pytest.raises(BadRequestError, match=r"field label not supported: spec\.nope"):
        parse_field_selector("spec.nope=1", POD)
    with pytest.raises(BadRequestError, match=r"field label not supported: spec\.nodeName"):
        parse_field_selector("spec.nodeName=1", NODE)
    with pytest.raises(BadRequestError, match=r'only "metadata\.name", "metadata\.namespace"'):
        parse_field_selector("spec.nodeName=1", KINDS.by_gvk("", "v1", "ConfigMap"))
    with pytest.raises(BadRequestError, match="can't understand"):
        parse_field_selector("metadata.name", POD)


def test_escaped_values_of_a_field_selector() -> None:
    selector = parse_field_selector(r"metadata.name=a\,b\=c\\d", POD)
    assert selector.exact("metadata.name") == r"a,b=c\d"


def test_node_schedulability_is_selectable() -> None:
    selector = parse_field_selector("spec.unschedulable=false", NODE)
    assert selector.matches({"metadata": {"name": "n"}, "spec": {}})
    assert not selector.matches({"metadata": {"name": "n"}, "spec": {"unschedulable": True}})
