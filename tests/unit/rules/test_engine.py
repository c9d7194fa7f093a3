from pathlib import Path
from typing import Any

import pytest

from winkube.facts.errors import DataError
from winkube.rules.engine import check
from winkube.rules.errors import UnknownRuleError
from winkube.rules.load import find_rule, load_file
from winkube.rules.model import to_text
from winkube.rules.target import parse_target, parse_targets

POD: dict[str, Any] = {
    "nodeSelector": {"kubernetes.io/os": "windows"},
    "hostPID": True,
    "containers": [{"name": "a", "image": "b"}],
}


def found_in(*documents: dict[str, Any]) -> set[tuple[str, str]]:
    return {(each.rule.id, to_text(each.path)) for each in check(documents, parse_target())}


@pytest.mark.parametrize(
    ("kind", "spec", "at"),
    [
        ("Pod", POD, "spec"),
        ("Deployment", {"template": {"spec": POD}}, "spec.template.spec"),
        (
            "CronJob",
            {"jobTemplate": {"spec": {"template": {"spec": POD}}}},
            "spec.jobTemplate.spec.template.spec",
        ),
        ("Rollout", {"template": {"spec": POD}}, "spec.template.spec"),
        ("Workflow", {"steps": [{"podSpec": POD}]}, "spec.steps[0].podSpec"),
    ],
)
def test_pods_are_found_in_any_kind(kind: str, spec: dict[str, Any], at: str) -> None:
    document = {"apiVersion": "x/v1", "kind": kind, "spec": spec}
    assert ("WIN-POD-002", f"{at}.hostPID") in found_in(document)


def test_a_runtime_class_may_come_after_its_pods() -> None:
    spec = {"runtimeClassName": "win", "hostPID": True, "containers": POD["containers"]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
    runtime_class = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "win"},
        "handler": "h",
        "scheduling": {"nodeSelector": {"kubernetes.io/os": "windows"}},
    }
    assert ("WIN-POD-002", "spec.hostPID") in found_in(pod, runtime_class)
    assert ("WIN-POD-002", "spec.hostPID") not in found_in(pod)


def test_a_finding_names_the_targets_it_is_about() -> None:
    document = {"apiVersion": "batch/v1beta1", "kind": "CronJob", "metadata": {"name": "a"}}
    targets = parse_targets(["1.19,1.25"])
    (finding,) = check([document], *targets)
    assert [str(target) for target in finding.targets] == ["1.25/ws2022"]


def test_an_unknown_rule_is_answered_with_its_neighbours() -> None:
    assert find_rule("win-pod-001").id == "WIN-POD-001"
    with pytest.raises(UnknownRuleError, match="WIN-POD-001"):
        find_rule("WINPOD001")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: b", "list of rules"),
        ("- {id: WIN-POD-001}", "WIN-POD-001: lacks"),
        ("[", "bad.yaml"),
        ("- 5", "entry 0"),
    ],
)
def test_broken_data_names_the_file_and_the_rule(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(DataError, match=said):
        list(load_file(path))


@pytest.mark.parametrize("kind", ["PersistentVolume", "PersistentVolumeClaim"])
@pytest.mark.parametrize("os", ["windows", "linux"])
def test_a_volume_is_judged_by_the_pods_that_use_it(kind: str, os: str) -> None:
    volume = {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": "disk" if kind == "PersistentVolumeClaim" else "pv-1"},
        "spec": {"volumeMode": "Block", "claimRef": {"name": "disk", "namespace": "default"}},
    }
    use = {"name": "v", "persistentVolumeClaim": {"claimName": "disk"}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {
            "nodeSelector": {"kubernetes.io/os": os},
            "containers": [{"name": "a", "image": "b"}],
            "volumes": [use],
        },
    }
    found = [finding.rule.id for finding in check([volume, pod], *parse_targets())]
    assert ("WIN-VOL-037" in found) is (os == "windows")
