"""Placing a pod never makes one that the API server takes into one that it refuses."""

import copy
from typing import Any

import pytest
from tests.unit.rules.test_data import CHECKED, read_pair

from winkube.api.defaults import apply_defaults
from winkube.api.kinds import Kind, served_kinds
from winkube.api.patch import json_patch
from winkube.api.schema import load_schema
from winkube.api.validation import validate_create
from winkube.rules.admission.cluster import Cluster
from winkube.rules.admission.judge import Judge
from winkube.rules.admission.place import plan_placing
from winkube.rules.model import Rule
from winkube.rules.subjects import pods_in
from winkube.rules.target import parse_target

CLUSTER = Cluster((parse_target("1.34", "ws2019"),), (("os", "windows", "NoSchedule"),))


@pytest.fixture(scope="module")
def kind() -> Kind:
    found = served_kinds(load_schema("1.34")).by_gvk("", "v1", "Pod")
    assert found is not None
    return found


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge(CLUSTER)


def complete(kind: Kind, pod: dict[str, Any], *, is_declared: bool) -> dict[str, Any]:
    made = copy.deepcopy(pod)
    made["metadata"] = {"name": "p", "namespace": "n", "uid": "u"}
    if not is_declared:
        made["spec"].pop("os", None)
    made = {"apiVersion": "v1", "kind": "Pod", **made}
    apply_defaults(kind, made)
    return made


@pytest.mark.parametrize("rule", CHECKED, ids=lambda rule: rule.id)
def test_a_placed_pod_is_as_valid_as_it_was(rule: Rule, kind: Kind, judge: Judge) -> None:
    for name in ("ok", "bad"):
        documents: Any = read_pair(rule, name)[0]
        for document in documents:
            for subject in pods_in(document) if isinstance(document, dict) else ():
                for is_declared in (True, False):
                    pod = complete(kind, subject.pod, is_declared=is_declared)
                    if validate_create(kind, pod):
                        continue
                    (own,) = pods_in(pod)
                    placed = json_patch(pod, plan_placing(own, judge, {}))
                    assert validate_create(kind, placed) == []
                    # A second time there is nothing left to add.
                    (again,) = pods_in(placed)
                    assert plan_placing(again, judge, {}) == []
