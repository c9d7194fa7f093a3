"""Where a pod goes by what it and the nodes are."""

from typing import Any

from tests.upstream.scheduling.objects import (
    expression,
    match,
    named,
    node,
    node_affinity,
    on,
    pod,
    taint,
)
from tests.upstream.scheduling.scenario import Scenario

Json = Any
GIB = 1024**3
TOLERATE: Json = {"tolerations": [{"key": "k", "operator": "Exists"}]}
SSD = match(expression("disk", "In", "ssd"))
BIG = [{"names": ["example.com/big:1"], "sizeBytes": GIB}]
SEVERAL = [node("a"), node("b"), node("c")]


def _init(*containers: Json) -> Json:
    return {
        "initContainers": [
            {"name": f"i{n}", "image": "example.com/any:1", **each}
            for n, each in enumerate(containers)
        ]
    }


def _asks(cpu: str, **more: Any) -> Json:
    return {"resources": {"requests": {"cpu": cpu}}, **more}


PLACEMENT = [
    Scenario("larger node is emptier", [node("a"), node("b", "8", "16Gi")], [pod("p", "1", "1Gi")]),
    Scenario("equal nodes", SEVERAL, [pod("p", "100m")], times=12),
    Scenario(
        "used node is worse",
        SEVERAL,
        [pod("p", "1", "1Gi")],
        [on("a", "x", "1", "1Gi"), on("b", "y", "500m", "1Gi"), on("c", "z", "2")],
    ),
    Scenario(
        "silent pods weigh something",
        [node("a"), node("b")],
        [pod("p")],
        [on("a", "x"), on("a", "y"), on("b", "z", "250m", "300Mi")],
        times=6,
    ),
    Scenario(
        "balance decides",
        [node("a", "4", "4Gi"), node("b", "4", "4Gi")],
        [pod("p", "1", "1Gi")],
        [on("a", "x", "1500m", "512Mi"), on("b", "y", "1", "1Gi")],
    ),
    Scenario(
        "image is there",
        [node("a", images=BIG), node("b"), node("c")],
        [pod("p", "100m", image="example.com/big:1")],
    ),
    Scenario(
        "image is common",
        [node("a", images=BIG), node("b", images=BIG), node("c")],
        [pod("p", "100m", image="example.com/big:1")],
        [on("a", "x", "1", "1Gi")],
    ),
    Scenario(
        "node selector",
        [node("a"), node("b", labels={"disk": "ssd"})],
        [pod("p", nodeSelector={"disk": "ssd"}), pod("q", nodeSelector={"disk": "hdd"})],
    ),
    Scenario(
        "node affinity with every operator",
        [node("a", labels={"n": "3", "disk": "ssd"}), node("b", labels={"n": "7"}), node("c")],
        [
            pod("gt", affinity=node_affinity(match(expression("n", "Gt", "5")))),
            pod("lt", affinity=node_affinity(match(expression("n", "Lt", "5")))),
            pod("absent", affinity=node_affinity(match(expression("n", "DoesNotExist")))),
            pod(
                "other",
                affinity=node_affinity(
                    match(expression("disk", "NotIn", "ssd"), expression("n", "Exists"))
                ),
            ),
            pod("either", affinity=node_affinity(SSD, match(expression("n", "Gt", "9")))),
            pod("none", affinity=node_affinity(match(expression("n", "Gt", "9")))),
        ],
    ),
    Scenario(
        "preferred nodes",
        [node("a", labels={"disk": "ssd"}), node("b", labels={"net": "fast"}), node("c")],
        [
            pod(
                "p",
                affinity=node_affinity(
                    preferred=[(10, SSD), (20, match(expression("net", "In", "fast")))]
                ),
            ),
            pod("q", affinity=node_affinity(preferred=[(1, SSD)])),
        ],
    ),
    Scenario(
        "node by name",
        SEVERAL,
        [
            pod("p", affinity=node_affinity(named("b"))),
            pod("gone", affinity=node_affinity(named("nowhere"))),
            pod(
                "never",
                affinity=node_affinity(
                    {
                        "matchFields": [
                            expression("metadata.name", "In", "a"),
                            expression("metadata.name", "In", "b"),
                        ]
                    }
                ),
            ),
            pod("full", "9", affinity=node_affinity(named("b"))),
        ],
    ),
    Scenario(
        "taints",
        [node("a", taints=[taint("k", "v")]), node("b", taints=[taint("k", "", "NoExecute")])],
        [
            pod("p"),
            pod("q", **TOLERATE),
            pod("r", tolerations=[{"key": "k", "operator": "Equal", "value": "v"}]),
        ],
        times=8,
    ),
    Scenario(
        "soft taints",
        [
            node(
                "a",
                taints=[taint("k", "1", "PreferNoSchedule"), taint("l", "2", "PreferNoSchedule")],
            ),
            node("b", taints=[taint("k", "1", "PreferNoSchedule")]),
        ],
        [pod("p", "100m"), pod("q", "100m", tolerations=[{"operator": "Exists"}])],
        times=6,
    ),
    Scenario(
        "cordoned node",
        [node("a", unschedulable=True)],
        [
            pod("p"),
            pod(
                "q", tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]
            ),
        ],
    ),
    Scenario(
        "host ports",
        [node("a"), node("b")],
        [
            pod("p", ports=[{"containerPort": 80, "hostPort": 80}]),
            pod("q", ports=[{"containerPort": 80, "hostPort": 80, "hostIP": "10.0.0.1"}]),
            pod("r", ports=[{"containerPort": 80, "hostPort": 80, "protocol": "UDP"}]),
        ],
        [
            on("a", "x", ports=[{"containerPort": 80, "hostPort": 80, "hostIP": "10.0.0.2"}]),
            on("b", "y", "3", ports=[{"containerPort": 80, "hostPort": 80}]),
        ],
        times=1,
    ),
    Scenario(
        "too many pods",
        [node("a", pods=1), node("b", pods=1)],
        [pod("p"), pod("q", "9")],
        [on("a", "x"), on("b", "y")],
    ),
    Scenario(
        "what is short",
        [node("a", "1", "1Gi"), node("b", "8", "1Gi"), node("c", "1", "8Gi")],
        [pod("p", "2", "2Gi", requests={"ephemeral-storage": "1Gi"})],
    ),
    Scenario(
        "extended resources",
        [node("a", extra={"example.com/gpu": "2"}), node("b")],
        [pod("p", requests={"example.com/gpu": "2"}), pod("q", requests={"example.com/gpu": "1"})],
    ),
    Scenario(
        "initial containers",
        [node("a", "2"), node("b", "4", "4Gi")],
        [
            pod("peak", "1", **_init(_asks("3"))),
            pod("sidecar", "1", **_init(_asks("1", restartPolicy="Always"), _asks("2500m"))),
            pod("small", "100m", **_init(_asks("50m"), _asks("60m", restartPolicy="Always"))),
        ],
        [],
    ),
    Scenario(
        "requests of the whole pod",
        [node("a", "2"), node("b", "4", "4Gi")],
        [
            pod("p", "100m", resources={"requests": {"cpu": "3"}}),
            pod("q", "100m", resources={"requests": {"cpu": "5"}}),
        ],
    ),
    Scenario(
        "overhead",
        [node("a", "1")],
        [pod("p", "600m", runtimeClassName="heavy"), pod("q", "500m", runtimeClassName="heavy")],
    ),
    Scenario("no nodes", [], [pod("p")]),
    Scenario("unknown scheduler", [node("a")], [pod("p", schedulerName="nobody")]),
    Scenario(
        "gates",
        [node("a")],
        [
            pod("p", schedulingGates=[{"name": "example.com/g"}]),
            {"patch": "p", "body": {"spec": {"schedulingGates": []}}},
        ],
    ),
    Scenario(
        "many reasons",
        [
            node("a", "1"),
            node("b", taints=[taint("k", "v")]),
            node("c", unschedulable=True),
            node("d", pods=0),
            node("e", labels={"disk": "ssd"}),
        ],
        [
            pod(
                "p",
                "2",
                nodeSelector={},
                affinity=node_affinity(match(expression("disk", "DoesNotExist"))),
            )
        ],
    ),
    Scenario("a node comes", [node("a", "1")], [pod("p", "2"), {"node": node("b", "4")}]),
    Scenario(
        "room is made", [node("a", "1")], [pod("p", "1"), {"delete": "x"}], [on("a", "x", "1")]
    ),
]
