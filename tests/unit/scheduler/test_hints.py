from typing import Any

import pytest

from winkube.base.types import JsonObject
from winkube.scheduler.events import ClusterEvent
from winkube.scheduler.profile import default_profile
from winkube.scheduler.shape import PodInfo, ShapeCache
from winkube.scheduler.world import World

SHAPES = ShapeCache()
RULES = {plugin.name: plugin for plugin in default_profile().plugins}
HOST = "kubernetes.io/hostname"


def pod(name: str = "p", *, cpu: str = "1", on: str = "", **more: Any) -> PodInfo:
    labels, ports = more.pop("labels", {}), more.pop("ports", [])
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}, "ports": ports}
    spec = {"containers": [container], "nodeName": on, **more}
    metadata = {"name": name, "namespace": "default", "uid": name, "labels": labels}
    return SHAPES.pod({"metadata": metadata, "spec": spec})


def node(cpu: str = "4", labels: JsonObject | None = None, **spec: Any) -> JsonObject:
    metadata = {"name": "n", "labels": labels or {}}
    return {"metadata": metadata, "spec": spec, "status": {"allocatable": {"cpu": cpu, "pods": 9}}}


def comes(new: JsonObject) -> ClusterEvent:
    return ClusterEvent(node=frozenset(("added",)), new_node=new)


def turns(aspect: str, old: JsonObject, new: JsonObject) -> ClusterEvent:
    return ClusterEvent(node=frozenset((aspect,)), old_node=old, new_node=new)


TAINT = {"key": "k", "effect": "NoSchedule"}
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "x"}}}
        ]
    }
}
SPREAD = [
    {
        "topologyKey": HOST,
        "whenUnsatisfiable": "DoNotSchedule",
        "maxSkew": 1,
        "labelSelector": {"matchLabels": {"app": "x"}},
    }
]
X = {"app": "x"}
CASES = [
    ("NodeResourcesFit", pod(), comes(node()), True),
    ("NodeResourcesFit", pod(cpu="8"), comes(node()), False),
    ("NodeResourcesFit", pod(), turns("allocatable", node("2"), node("4")), True),
    ("NodeResourcesFit", pod(), turns("allocatable", node("4"), node("2")), False),
    ("NodeResourcesFit", pod(), turns("labels", node(), node(labels=X)), False),
    ("NodeResourcesFit", pod(), ClusterEvent(old_pod=pod("q", on="n")), True),
    ("NodeResourcesFit", pod(), ClusterEvent(new_pod=pod("q", on="n")), False),
    (
        "NodeResourcesFit",
        pod(),
        ClusterEvent(old_pod=pod("q", cpu="2", on="n"), new_pod=pod("q", cpu="1", on="n")),
        True,
    ),
    ("TaintToleration", pod(), comes(node(taints=[TAINT])), False),
    ("TaintToleration", pod(), turns("taints", node(taints=[TAINT]), node()), True),
    ("TaintToleration", pod(), turns("taints", node(), node(taints=[TAINT])), False),
    ("TaintToleration", pod(), ClusterEvent(old_pod=pod("q", on="n")), False),
    ("NodeUnschedulable", pod(), turns("taints", node(unschedulable=True), node()), True),
    ("NodeUnschedulable", pod(), turns("taints", node(), node(unschedulable=True)), False),
    ("NodeAffinity", pod(nodeSelector=X), turns("labels", node(), node(labels=X)), True),
    ("NodeAffinity", pod(nodeSelector=X), turns("labels", node(labels=X), node()), False),
    ("NodeAffinity", pod(nodeSelector=X), comes(node()), False),
    (
        "NodePorts",
        pod(ports=[{"hostPort": 80}]),
        ClusterEvent(old_pod=pod("q", on="n", ports=[{"hostPort": 80}])),
        True,
    ),
    (
        "NodePorts",
        pod(ports=[{"hostPort": 80}]),
        ClusterEvent(old_pod=pod("q", on="n", ports=[{"hostPort": 81}])),
        False,
    ),
    ("InterPodAffinity", pod(affinity=APART), ClusterEvent(old_pod=pod("q", labels=X)), True),
    ("InterPodAffinity", pod(affinity=APART), ClusterEvent(old_pod=pod("q")), False),
    ("InterPodAffinity", pod(labels=X), ClusterEvent(old_pod=pod("q", affinity=APART)), True),
    (
        "PodTopologySpread",
        pod(topologySpreadConstraints=SPREAD),
        ClusterEvent(new_pod=pod("q", labels=X)),
        True,
    ),
    (
        "PodTopologySpread",
        pod(topologySpreadConstraints=SPREAD),
        ClusterEvent(new_pod=pod("q")),
        False,
    ),
    ("PodTopologySpread", pod(topologySpreadConstraints=SPREAD), comes(node()), False),
    (
        "PodTopologySpread",
        pod(topologySpreadConstraints=SPREAD),
        comes(node(labels={HOST: "n"})),
        True,
    ),
    ("VolumeBinding", pod(), ClusterEvent(others="volume"), True),
    ("VolumeBinding", pod(), ClusterEvent(old_pod=pod("q", on="n")), False),
]


@pytest.mark.parametrize(("rule", "waiting", "event", "helps"), CASES)
def test_event_helps_a_pod_that_the_rule_kept_out(
    rule: str, waiting: PodInfo, event: ClusterEvent, helps: bool
) -> None:
    assert RULES[rule].hint(event, waiting, World()) is helps
