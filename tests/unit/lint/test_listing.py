"""Large Lists are read item by item; what is found must be as if they were read whole."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from winkube.lint import listing
from winkube.lint.fix import repair_text
from winkube.lint.reading import Document, Problem, parse_text
from winkube.lint.run import LintConfig, Run
from winkube.lint.sources import Source
from winkube.rules.target import parse_targets


@pytest.fixture(autouse=True)
def _small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "LARGE", 1)


def _pod(number: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"p{number}", "annotations": {"odd": '[{"x": "]}"}] # - y\n- z'}},
        "spec": {
            "nodeSelector": {"kubernetes.io/os": "windows"},
            "containers": [
                {"name": "a", "image": "mcr.microsoft.com/windows/nanoserver:ltsc2022",
                 "securityContext": {"privileged": True}, "args": ["0 */2 * * *", "a && b &"]},
            ],
        },
    }  # fmt: skip


PODS = [_pod(number) for number in range(4)]
LIST = {"apiVersion": "v1", "items": PODS, "kind": "List", "metadata": {}}
FIRST = {"kind": "List", "apiVersion": "v1", "items": PODS}
FORMS = {
    "yaml": yaml.safe_dump(LIST),
    "yaml-kind-first": yaml.safe_dump(FIRST, sort_keys=False),
    "yaml-indented": "apiVersion: v1\nkind: List\nitems:\n  # four\n"
    + "".join(f"  {line}\n" for line in yaml.safe_dump(PODS).splitlines()),
    "yaml-crlf": yaml.safe_dump(LIST).replace("\n", "\r\n"),
    "yaml-behind-another": "kind: ConfigMap\napiVersion: v1\n---\n" + yaml.safe_dump(LIST),
    "json": json.dumps(LIST, indent=4),
    "json-in-a-line": json.dumps(LIST),
}


def _objects(text: str) -> list[Any]:
    parts = list(parse_text("f", text))
    assert not [part for part in parts if isinstance(part, Problem)]
    return [v for part in parts if isinstance(part, Document) for _, v in part.objects()]


def _run(text: str) -> Run:
    run = Run(LintConfig(parse_targets()))
    run.add_file(Source("f", text.encode(), Path("f")))
    run.finish()
    return run


def _findings(text: str) -> list[tuple[str, str, int, int]]:
    return [
        (each.rule.id, str(each.ref), each.position.line, each.position.column)
        for each in _run(text).report.findings
    ]


@pytest.mark.parametrize("form", FORMS)
def test_items_are_the_same_as_in_the_whole(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = FORMS[form]
    assert len(list(parse_text("f", text))) >= 4
    apart, found = _objects(text), _findings(text)
    monkeypatch.setattr(listing, "LARGE", 1 << 40)
    assert len(list(parse_text("f", text))) < 4
    assert _objects(text) == apart
    assert _findings(text) == found
    assert len(found) >= 4


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a}\n",
        "apiVersion: v1\nkind: List\nitems:\n- &a {apiVersion: v1, kind: Pod}\n- *a\n",
        "apiVersion: v1\nkind: List\nitems: []\n",
        "kind: ConfigMap\ndata:\n  items: |\n    - a\n",
        '{"kind": "PodList", "items": [{"metadata": {}}]}',
        '{"kind": "List", "items": [{"a": 1}',
        '{"kind": "List", "items": {"a": 1}}',
    ],
)
def test_other_forms_are_left_whole(text: str) -> None:
    assert listing.find_items(text) is None


def test_a_broken_item_is_told_and_the_others_are_read() -> None:
    text = FORMS["yaml"].replace("name: p2", "name: p2: x")
    parts = list(parse_text("f", text))
    problems = [part for part in parts if isinstance(part, Problem)]
    assert [each.line for each in problems] == [text[: text.index("p2: x")].count("\n") + 1]
    assert len([part for part in parts if isinstance(part, Document)]) == 3


@pytest.mark.parametrize("form", FORMS)
def test_repairs_reach_every_item(form: str) -> None:
    text = FORMS[form]
    new, done = repair_text(text, [repair for _, repair in _run(text).repairs])
    assert done >= 4
    pods = [item for item in _objects(new) if item["kind"] == "Pod"]
    assert [pod["metadata"] for pod in pods] == [pod["metadata"] for pod in PODS]
    assert all("privileged" not in json.dumps(pod) for pod in pods)
