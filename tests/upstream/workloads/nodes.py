"""Nodes that are tainted, stop or go, and their pods."""

from tests.upstream.scenario import Json, Scenario, Step
from tests.upstream.steps import change, count, gone, look, make, pause, remove, until
from tests.upstream.workloads.shapes import (
    condition,
    is_ready,
    pod,
)


def taint(node: str, *taints: Json) -> Step:
    return change(
        "Node", node, {"spec": {"taints": [{"key": "spare", "effect": "NoSchedule"}, *taints]}}
    )


def on_spare(number: int, name: str = "a", **more: Json) -> Json:
    tolerations = [{"key": "spare", "operator": "Exists"}, *more.pop("tolerations", [])]
    return pod(name, nodeName=f"spare-{number}", tolerations=tolerations, **more)


SECONDS = [
    {
        "key": "node.kubernetes.io/unreachable",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 1,
    },
    {
        "key": "node.kubernetes.io/not-ready",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 1,
    },
]
SCENARIOS = [
    Scenario(
        "taint evicts at once and later",
        [
            make(
                on_spare(4),
                on_spare(
                    4,
                    "b",
                    tolerations=[
                        {
                            "key": "evil",
                            "operator": "Exists",
                            "effect": "NoExecute",
                            "tolerationSeconds": 2,
                        }
                    ],
                ),
                on_spare(4, "c", tolerations=[{"key": "evil", "operator": "Exists"}]),
            ),
            count("Pod", 3, is_ready),
            taint("spare-4", {"key": "evil", "value": "x", "effect": "NoExecute"}),
            gone("Pod", "a"),
            gone("Pod", "b"),
        ],
    ),
    Scenario(
        "taint goes before its time",
        [
            make(
                on_spare(
                    7,
                    "b",
                    tolerations=[
                        {
                            "key": "evil2",
                            "operator": "Exists",
                            "effect": "NoExecute",
                            "tolerationSeconds": 3,
                        }
                    ],
                )
            ),
            count("Pod", 1, is_ready),
            taint("spare-7", {"key": "evil2", "value": "x", "effect": "NoExecute"}),
            pause(1),
            taint("spare-7"),
            pause(4),
        ],
    ),
    Scenario(
        "node that stops",
        [
            make(
                on_spare(5, tolerations=SECONDS),
                on_spare(5, "kept", tolerations=[{"operator": "Exists"}]),
            ),
            count("Pod", 2, is_ready),
            change(
                "Node",
                "spare-5",
                {
                    "metadata": {
                        "annotations": {
                            "simulation.winkube.dev/state": "stopped",
                            "scenario": "{ns}",
                        }
                    }
                },
            ),
            until("Node", "spare-5", lambda o: condition(o, "Ready")["status"] == "Unknown"),
            until("Pod", "a", lambda o: "deletionTimestamp" in o["metadata"]),
            look("unreachable"),
            change(
                "Node",
                "spare-5",
                {"metadata": {"annotations": {"simulation.winkube.dev/state": None}}},
            ),
            gone("Pod", "a"),
            until(
                "Node",
                "spare-5",
                lambda o: (
                    condition(o, "Ready")["status"] == "True" and len(o["spec"]["taints"]) == 1
                ),
            ),
        ],
        also=("Node",),
        ignore=("#NodeNotReady",),
        patient=True,
    ),
    Scenario(
        "node that is deleted",
        [
            make(on_spare(6, tolerations=[{"operator": "Exists"}])),
            count("Pod", 1, is_ready),
            remove("Node", "spare-6"),
            # Pods of a node that is gone are collected after a minute.
            count("Pod", 0, seconds=120),
        ],
        patient=True,
    ),
]
