from typing import Any

from winkube.rules.admission.cluster import gather, read_node


def node(os: str = "windows", **fields: Any) -> dict[str, Any]:
    labels = {"kubernetes.io/os": os, "node.kubernetes.io/windows-build": "10.0.20348"}
    info = {"kubeletVersion": "v1.33.1", "containerRuntimeVersion": "containerd://2.0.0"}
    return {"metadata": {"labels": labels}, "spec": fields, "status": {"nodeInfo": info}}


def test_a_node_says_its_target_and_the_taint_of_windows() -> None:
    taints = [
        {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"},
        {"key": "node.kubernetes.io/os", "value": "windows", "effect": "NoSchedule"},
        {"key": "dedicated", "value": "Windows", "effect": "NoExecute"},
        {"key": "os", "value": "windows", "effect": "PreferNoSchedule"},
        {"key": "dedicated", "value": "team-a", "effect": "NoSchedule"},
        "odd",
    ]
    found = read_node(node(taints=taints))
    assert found is not None
    assert str(found.target) == "1.33.1/ws2022/containerd"
    assert found.taints == (
        ("node.kubernetes.io/os", "windows", "NoSchedule"),
        ("dedicated", "Windows", "NoExecute"),
    )


def test_other_nodes_say_nothing() -> None:
    assert read_node(node("linux")) is None
    odd = node()
    odd["metadata"]["labels"]["node.kubernetes.io/windows-build"] = "; drop table"
    assert read_node(odd) is None
    assert read_node({}) is None
    unread = node()
    unread["status"]["nodeInfo"]["kubeletVersion"] = "unknown"
    assert read_node(unread) is None


def test_a_cluster_is_what_its_windows_nodes_are() -> None:
    tainted = read_node(node(taints=[{"key": "os", "value": "windows", "effect": "NoSchedule"}]))
    plain = read_node(node())
    assert tainted is not None
    assert plain is not None
    assert gather([tainted, tainted], "1.34").is_tainted
    both = gather([tainted, plain], "1.34")
    assert not both.is_tainted
    assert both.taints == (("os", "windows", "NoSchedule"),)
    assert both.has_windows
    empty = gather([], "1.30")
    assert not empty.has_windows
    assert str(empty.targets[0].kubernetes) == "1.30"


def test_selecting_a_build_narrows_the_targets() -> None:
    found = [read_node(node()), read_node(node())]
    assert found[0] is not None
    cluster = gather([each for each in found if each], "1.34")
    assert cluster.narrowed("10.0.20348").targets == cluster.targets
    assert cluster.narrowed("10.0.1").targets == cluster.targets
