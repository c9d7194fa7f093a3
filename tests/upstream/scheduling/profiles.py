"""Several schedulers in one, each with its own rules."""

from typing import Any

from tests.upstream.scheduling.objects import (
    ZONE,
    expression,
    match,
    node,
    node_affinity,
    on,
    pod,
    service,
    zone,
)
from tests.upstream.scheduling.scenario import HIGH, LOW, Scenario, labelled

SSD = match(expression("disk", "In", "ssd"))
ZONES = [zone("a1", "a"), zone("a2", "a"), zone("b1", "b")]

PROFILES = [
    Scenario(
        "most allocated",
        [node("a"), node("b")],
        [pod("p", "1", "1Gi", schedulerName="packing")],
        [on("a", "x", "1", "1Gi")],
    ),
    Scenario(
        "by a curve",
        [node("a"), node("b"), node("c")],
        [pod("p", "1", "1Gi", schedulerName="curve")],
        [on("a", "x", "1", "2Gi"), on("b", "y", "2500m", "5Gi")],
    ),
    Scenario(
        "enforced affinity and no preemption",
        [node("a"), node("b", "1", labels={"pool": "p"})],
        [pod("p", "500m", schedulerName="pool"), pod("q", "1", schedulerName="pool", **HIGH)],
        [on("b", "x", "500m", **LOW)],
    ),
    Scenario(
        "other weights",
        [node("a", labels={"disk": "ssd"}), node("b")],
        [
            pod(
                "p",
                "1",
                "1Gi",
                schedulerName="weights",
                affinity=node_affinity(preferred=[(1, SSD)]),
            )
        ],
        [on("a", "x", "3", "6Gi")],
    ),
    Scenario(
        "own default spreading",
        ZONES,
        [pod("p", "100m", schedulerName="strict", **labelled())],
        [service("s", app="x"), on("a1", "x", **labelled()), on("b1", "y", "3", "6Gi")],
    ),
]


# The scheduler is started with these profiles.
CONFIGURATION: Any = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "leaderElection": {"leaderElect": False},
    "profiles": [
        {"schedulerName": "default-scheduler"},
        {
            "schedulerName": "packing",
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {
                        "scoringStrategy": {
                            "type": "MostAllocated",
                            "resources": [
                                {"name": "cpu", "weight": 2},
                                {"name": "memory", "weight": 1},
                            ],
                        }
                    },
                }
            ],
        },
        {
            "schedulerName": "curve",
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {
                        "scoringStrategy": {
                            "type": "RequestedToCapacityRatio",
                            "resources": [
                                {"name": "cpu", "weight": 3},
                                {"name": "memory", "weight": 1},
                            ],
                            "requestedToCapacityRatio": {
                                "shape": [
                                    {"utilization": 0, "score": 0},
                                    {"utilization": 60, "score": 10},
                                    {"utilization": 100, "score": 2},
                                ]
                            },
                        }
                    },
                }
            ],
        },
        {
            "schedulerName": "pool",
            "plugins": {"postFilter": {"disabled": [{"name": "*"}]}},
            "pluginConfig": [
                {
                    "name": "NodeAffinity",
                    "args": {
                        "addedAffinity": node_affinity(match(expression("pool", "In", "p")))[
                            "nodeAffinity"
                        ]
                    },
                }
            ],
        },
        {
            "schedulerName": "weights",
            "plugins": {
                "multiPoint": {"enabled": [{"name": "NodeAffinity", "weight": 10}]},
                "score": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}]},
            },
        },
        {
            "schedulerName": "strict",
            "pluginConfig": [
                {
                    "name": "PodTopologySpread",
                    "args": {
                        "defaultingType": "List",
                        "defaultConstraints": [
                            {
                                "maxSkew": 1,
                                "topologyKey": ZONE,
                                "whenUnsatisfiable": "DoNotSchedule",
                            }
                        ],
                    },
                }
            ],
        },
    ],
}
