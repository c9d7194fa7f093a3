"""Which additions put a pod that is meant for Windows on Windows nodes, as a JSON patch.

A pod is meant for Windows if spec.os, a selector, its RuntimeClass, Windows options or the name of
an image say so, and nothing in it speaks of Linux. What it says itself is never changed.
"""

from collections.abc import Mapping
from typing import Any

from winkube.api.selector.nodes import is_tolerated
from winkube.base.types import JsonObject
from winkube.rules.admission.cluster import to_taint, tolerations_in
from winkube.rules.admission.judge import Judge, is_refusal
from winkube.rules.model import Path
from winkube.rules.placement import OS_LABELS, place
from winkube.rules.subjects import Subject

Operation = dict[str, Any]


def plan_placing(
    subject: Subject, judge: Judge, classes: Mapping[str, JsonObject]
) -> list[Operation]:
    """Nothing for a pod of Linux, of both, or with a node already."""
    spec = subject.pod["spec"]
    where = place(subject.pod, classes)
    if not where.is_windows or spec.get("nodeName"):
        return []
    if any(evidence.os != "windows" for evidence in (*where.firm, *where.images)):
        return []
    found: list[Operation] = []
    at = (*subject.base, "spec")
    if where.pinned is None:
        found += _add_entry(spec, at, "nodeSelector", OS_LABELS[0], "windows")
    found += _tolerate(spec, at, judge)
    if not spec.get("os") and _may_declare(subject, judge, classes):
        found.append(_add((*at, "os"), {"name": "windows"}))
    return found


def _tolerate(spec: JsonObject, at: Path, judge: Judge) -> list[Operation]:
    own = tolerations_in(spec)
    wanted: list[JsonObject] = []
    for taint in judge.cluster.taints:
        if not is_tolerated([*own, *wanted], to_taint(taint)):
            key, value, effect = taint
            wanted.append({"key": key, "operator": "Equal", "value": value, "effect": effect})
    if not wanted:
        return []
    if not spec.get("tolerations"):
        return [_add((*at, "tolerations"), wanted)]
    return [_add((*at, "tolerations", "-"), each) for each in wanted]


def _may_declare(subject: Subject, judge: Judge, classes: Mapping[str, JsonObject]) -> bool:
    """Whether the API server takes the pod also when it says what it is.

    With spec.os the API server refuses fields that Windows would only have ignored.
    """
    declared: JsonObject = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {},
        "spec": {**subject.pod["spec"], "os": {"name": "windows"}},
    }
    return not any(is_refusal(found.rule) for found in judge.findings(declared, classes))


def _add_entry(spec: JsonObject, at: Path, field: str, key: str, value: str) -> list[Operation]:
    if spec.get(field):
        return [_add((*at, field, key), value)]
    return [_add((*at, field), {key: value})]


def _add(path: Path, value: Any) -> Operation:
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in path)
    return {"op": "add", "path": "/" + "/".join(steps), "value": value}
