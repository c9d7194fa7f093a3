"""Warnings are about what people wrote: the walk over all pairs of manifests of the rules."""

import copy
import re
from typing import Any

import pytest
from tests.unit.rules.test_data import CHECKED, read_pair

from winkube.api.defaults import apply_defaults
from winkube.api.kinds import KindTable, served_kinds
from winkube.api.schema import load_schema
from winkube.rules.admission.written import LABELS, as_written
from winkube.rules.engine import check
from winkube.rules.model import Rule, Severity, Target
from winkube.rules.placement import meant_for, place
from winkube.rules.subjects import pods_in
from winkube.rules.target import parse_target

TARGETS = (
    parse_target("1.34", "ws2019", runtime="containerd"),
    parse_target("1.19", "ws2019", runtime="docker"),
)

ABOUT_PODS = [rule for rule in CHECKED if "Pod" in rule.kinds]


@pytest.fixture(scope="module")
def kinds() -> KindTable:
    return served_kinds(load_schema("1.34"))


def remarks(document: dict[str, Any], target: Target) -> set[str]:
    found = check([document], target)
    return {each.rule.id for each in found if each.rule.severity is not Severity.INFO}


def stored(kinds: KindTable, document: dict[str, Any]) -> dict[str, Any] | None:
    group, _, version = str(document.get("apiVersion")).rpartition("/")
    kind = kinds.by_gvk(group, version, str(document.get("kind")))
    if kind is None:
        return None
    made = copy.deepcopy(document)
    apply_defaults(kind, made)
    for subject in pods_in(made):
        token = {"name": "kube-api-access-x7z9q", "projected": {"defaultMode": 420, "sources": []}}
        spec = subject.pod["spec"]
        spec.setdefault("volumes", []).append(token)
        for container in spec["containers"]:
            mount = {"name": token["name"], "mountPath": "/var/run/secrets/kubernetes.io"}
            container.setdefault("volumeMounts", []).append(mount)
    return made


@pytest.mark.parametrize("rule", CHECKED, ids=lambda rule: rule.id)
def test_defaults_and_token_volumes_bring_no_remark(rule: Rule, kinds: KindTable) -> None:
    for name in ("ok", "bad"):
        documents: Any = read_pair(rule, name)[0]
        for document in documents:
            full = stored(kinds, document) if isinstance(document, dict) else None
            subject = next(pods_in(full), None) if full else None
            if full is None or subject is None:
                continue
            written = as_written(full, subject)
            for target in TARGETS:
                assert remarks(written, target) <= remarks(document, target)


@pytest.mark.parametrize(
    "rule", [rule for rule in CHECKED if "Pod" in rule.kinds], ids=lambda rule: rule.id
)
def test_no_rule_about_pods_looks_at_a_label_that_is_left_out(rule: Rule) -> None:
    named = re.findall(r"'metadata', 'labels'(?:, '([^']+)')?", repr((rule.params, rule.when)))
    assert set(named) <= LABELS


@pytest.mark.parametrize("rule", CHECKED, ids=lambda rule: rule.id)
def test_the_quick_look_at_a_pod_sees_what_the_careful_one_sees(rule: Rule) -> None:
    classes = {"wcow": {"handler": "runhcs-wcow-process"}}
    for name in ("ok", "bad"):
        documents: Any = read_pair(rule, name)[0]
        for document in documents:
            for subject in pods_in(document) if isinstance(document, dict) else ():
                assert meant_for(subject.pod["spec"], classes) == place(subject.pod, classes).os
