"""Where rules come from: in one of the known forms, and there, as far as that can be looked up."""

import os
import re
from pathlib import Path

import pytest

from winkube.rules.load import load_rules

FORMS = (
    r"seed:00[0-4]:[1-9]\d*",
    r"doc:https://\S+",
    r"[\w.-]+/[\w.-]+:[\w./-]+\.(go|md|yaml|json)",
    r"[\w.-]+/[\w.-]+#\d+",
)
VERSION = "1.34.0"
# Came after the version whose sources are looked at.
LATER = frozenset({"test/e2e/windows/subpath_cleanup.go"})
MODULES = Path(os.environ.get("GOMODCACHE") or Path.home() / "go" / "pkg" / "mod") / "k8s.io"
CITED = sorted(
    {
        source.partition(":")[2]
        for rule in load_rules()
        for source in rule.source
        if source.startswith("kubernetes/kubernetes:")
    }
)


@pytest.mark.parametrize("rule", load_rules(), ids=lambda rule: rule.id)
def test_a_source_has_a_form_that_leads_somewhere(rule: object) -> None:
    for source in rule.source:  # type: ignore[attr-defined]
        assert any(re.fullmatch(form, source) for form in FORMS), source


@pytest.mark.parametrize("path", CITED)
def test_a_cited_file_of_kubernetes_is_there(path: str) -> None:
    if not (MODULES / f"kubernetes@v{VERSION}").is_dir():
        pytest.skip("needs the sources of Kubernetes (make upstream fetches them)")
    if path in LATER:
        return
    staged = re.fullmatch(r"staging/src/k8s\.io/([\w-]+)/(.+)", path)
    place = f"kubernetes@v{VERSION}/{path}"
    if staged:
        place = f"{staged[1]}@v0{VERSION[1:]}/{staged[2]}"
    assert (MODULES / place).is_file()
