"""Deployments, ReplicaSets, StatefulSets and DaemonSets: rules, defaults, what may change."""

from collections.abc import Iterable
from typing import Any

from tests.upstream.exchange import MERGE, Case, Step
from tests.upstream.objects import SAMPLE, Sample
from tests.upstream.variants import DRY, merged

SELECTORS: tuple[Any, ...] = (
    {"selector": ...},
    {"selector": {}},
    {"selector": {"matchLabels": {"app": "b"}}},
    {"selector": {"matchLabels": {"a b": "c"}}},
    {"selector": {"matchLabels": {"app": "b c"}}},
    {"selector": {"matchLabels": ..., "matchExpressions": [{"key": "app", "operator": "In"}]}},
    {"selector": {"matchLabels": ..., "matchExpressions": [{"key": "app", "operator": "Other"}]}},
    {
        "selector": {
            "matchLabels": ...,
            "matchExpressions": [{"key": "app", "operator": "Exists", "values": ["x"]}],
        }
    },
    {
        "selector": {
            "matchLabels": ...,
            "matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "x"]}],
        }
    },
    {"selector": {"matchLabels": ..., "matchExpressions": [{"key": "-", "operator": "Exists"}]}},
)
TEMPLATES: tuple[Any, ...] = (
    {"template": ...},
    {"template": {"metadata": ...}},
    {"template": {"metadata": {"labels": {"app": "x"}}}},
    {"template": {"metadata": {"labels": {"-": "x"}, "annotations": {"a b": "c"}}}},
    {"template": {"spec": {"containers": []}}},
    {"template": {"spec": {"restartPolicy": "Never"}}},
    {"template": {"spec": {"restartPolicy": "Other"}}},
    {"template": {"spec": {"activeDeadlineSeconds": 5}}},
    {"template": {"spec": {"ephemeralContainers": [{"name": "e", "image": "i"}]}}},
    {
        "template": {
            "spec": {
                "hostNetwork": True,
                "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}],
            }
        }
    },
)
COUNTS = (
    {"replicas": -1},
    {"replicas": 0},
    {"minReadySeconds": -1},
    {"minReadySeconds": 5},
    {"revisionHistoryLimit": -1},
    {"revisionHistoryLimit": 0},
)
ROLLING: tuple[Any, ...] = (
    {},
    {"maxSurge": 0, "maxUnavailable": 0},
    {"maxSurge": "0%", "maxUnavailable": 0},
    {"maxSurge": 1},
    {"maxUnavailable": 1},
    {"maxSurge": -1},
    {"maxSurge": "x"},
    {"maxSurge": "50"},
    {"maxSurge": "150%", "maxUnavailable": "0%"},
    {"maxUnavailable": "101%"},
    {"maxUnavailable": -1},
    {"maxUnavailable": "-5%"},
    {"maxSurge": "10%", "maxUnavailable": "10%"},
)


def specs(sample: Sample, rows: Iterable[Any]) -> list[Step]:
    return [Step("POST", sample.path + DRY, merged(sample.named(), {"spec": row})) for row in rows]


def changes(sample: Sample, rows: Iterable[Any]) -> list[Step]:
    """The object, and then one patch for each row."""
    return [
        Step("POST", sample.path, sample.named()),
        *(Step("PATCH", sample.item + DRY, row, MERGE) for row in rows),
    ]


def case(name: str, steps: list[Step]) -> Case:
    return Case(name, steps, managed=False)


DEPLOYMENT, REPLICA_SET = SAMPLE["Deployment"], SAMPLE["ReplicaSet"]
STATEFUL_SET, DAEMON_SET = SAMPLE["StatefulSet"], SAMPLE["DaemonSet"]
CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
UPDATES = (
    {"spec": {"replicas": 5}},
    {"spec": {"selector": {"matchLabels": {"app": "other"}}}},
    {
        "spec": {
            "selector": {"matchLabels": {"app": "other"}},
            "template": {"metadata": {"labels": {"app": "other"}}},
        }
    },
    {"spec": {"template": {"metadata": {"labels": {"new": "one"}}}}},
    {"spec": {"template": {"metadata": {"labels": {"app": "other"}}}}},
    {"spec": {"template": {"spec": {"containers": [{"name": "d", "image": "j"}]}}}},
    {"spec": {"template": {"spec": {"containers": None}}}},
    {"spec": {"replicas": -1, "minReadySeconds": -1}},
    {"spec": None},
    {"metadata": {"annotations": {"a": "b"}}},
)
STATUSES = (
    {"replicas": -1},
    {"replicas": 1, "readyReplicas": 2, "availableReplicas": 3, "updatedReplicas": 4},
    {"replicas": 2, "readyReplicas": 1, "availableReplicas": 2},
    {"observedGeneration": -1},
    {"fullyLabeledReplicas": 5},
    {"collisionCount": -1},
    {"collisionCount": 3},
    {"conditions": [{"type": "A", "status": "True"}, {"type": "A", "status": "True"}]},
    {"currentReplicas": -1, "updatedReplicas": -1},
    {"numberReady": -1, "numberAvailable": -1, "updatedNumberScheduled": -1},
    {"terminatingReplicas": -1},
)


def statuses(sample: Sample) -> list[Step]:
    return [
        Step("POST", sample.path, sample.named()),
        *(Step("PATCH", sample.item + "/status" + DRY, {"status": row}, MERGE) for row in STATUSES),
    ]


CASES = [
    *(
        case(f"selectors of a {sample.kind}", specs(sample, SELECTORS))
        for sample in (DEPLOYMENT, REPLICA_SET, STATEFUL_SET, DAEMON_SET)
    ),
    *(
        case(f"templates of a {sample.kind}", specs(sample, TEMPLATES))
        for sample in (DEPLOYMENT, REPLICA_SET, STATEFUL_SET, DAEMON_SET)
    ),
    *(
        case(f"counts of a {sample.kind}", specs(sample, COUNTS))
        for sample in (DEPLOYMENT, REPLICA_SET, STATEFUL_SET, DAEMON_SET)
    ),
    *(
        case(f"updates of a {sample.kind}", changes(sample, UPDATES))
        for sample in (DEPLOYMENT, REPLICA_SET, STATEFUL_SET, DAEMON_SET)
    ),
    *(
        case(f"status of a {sample.kind}", statuses(sample))
        for sample in (DEPLOYMENT, REPLICA_SET, STATEFUL_SET, DAEMON_SET)
    ),
    case(
        "strategies of a Deployment",
        specs(
            DEPLOYMENT,
            [
                {"strategy": {"type": "Recreate"}},
                {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}},
                {"strategy": {"type": "Other"}},
                *({"strategy": {"rollingUpdate": row}} for row in ROLLING),
                {"progressDeadlineSeconds": 0},
                {"progressDeadlineSeconds": -1},
                {"progressDeadlineSeconds": 5, "minReadySeconds": 5},
                {"progressDeadlineSeconds": 6, "minReadySeconds": 5},
                {"paused": True},
            ],
        ),
    ),
    case(
        "strategies of a DaemonSet",
        specs(
            DAEMON_SET,
            [
                {"updateStrategy": {"type": "OnDelete"}},
                {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"maxSurge": 1}}},
                {"updateStrategy": {"type": "Other"}},
                *({"updateStrategy": {"rollingUpdate": row}} for row in ROLLING),
                {"templateGeneration": 5},
            ],
        ),
    ),
    case(
        "what a StatefulSet adds",
        specs(
            STATEFUL_SET,
            [
                {"updateStrategy": {"type": "OnDelete"}},
                {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}},
                {"updateStrategy": {"type": "Other"}},
                {"updateStrategy": {"type": "RollingUpdate"}},
                {"updateStrategy": {"rollingUpdate": {"partition": -1}}},
                {"updateStrategy": {"rollingUpdate": {"partition": 3}}},
                {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 2}}},
                {"podManagementPolicy": "Parallel"},
                {"podManagementPolicy": "Other"},
                {"serviceName": ...},
                {"serviceName": "A_b"},
                {"ordinals": {"start": 3}},
                {"ordinals": {"start": -3}},
                {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}},
                {
                    "persistentVolumeClaimRetentionPolicy": {
                        "whenDeleted": "Other",
                        "whenScaled": "x",
                    }
                },
                {"volumeClaimTemplates": [CLAIM]},
                {"volumeClaimTemplates": [{}]},
                {"volumeClaimTemplates": [merged(CLAIM, {"metadata": {"name": "A_b"}})]},
                {"volumeClaimTemplates": [CLAIM, CLAIM]},
                {
                    "volumeClaimTemplates": [CLAIM],
                    "template": {
                        "spec": {
                            "containers": [
                                {
                                    "name": "c",
                                    "image": "i",
                                    "volumeMounts": [{"name": "data", "mountPath": "/x"}],
                                }
                            ]
                        }
                    },
                },
            ],
        ),
    ),
    case(
        "what of a StatefulSet may change",
        changes(
            STATEFUL_SET,
            [
                {"spec": {"serviceName": "t"}},
                {"spec": {"podManagementPolicy": "Parallel"}},
                {"spec": {"volumeClaimTemplates": [CLAIM]}},
                {"spec": {"ordinals": {"start": 2}}},
                {"spec": {"minReadySeconds": 2}},
                {"spec": {"revisionHistoryLimit": 2}},
                {"spec": {"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"}}},
                {"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}}},
            ],
        ),
    ),
    case(
        "revisions",
        [
            Step(
                "POST", SAMPLE["ControllerRevision"].path + DRY, {"metadata": {"name": "a"}, **row}
            )
            for row in (
                {},
                {"revision": -1, "data": {}},
                {"revision": 0, "data": {}},
                {"revision": 1, "data": None},
                {"revision": 1, "data": {"spec": {"a": None}}},
            )
        ],
    ),
    case(
        "scales",
        [
            step
            for sample in (DEPLOYMENT, REPLICA_SET, STATEFUL_SET)
            for step in (
                Step("POST", sample.path, sample.named()),
                Step("GET", sample.item + "/scale"),
                Step("PATCH", sample.item + "/scale", {"spec": {"replicas": 3}}, MERGE),
                Step("GET", sample.item),
                Step("PATCH", sample.item + "/scale", {"spec": {"replicas": -3}}, MERGE),
                Step("PATCH", sample.item + "/scale", {"spec": {"replicas": "3"}}, MERGE),
                Step(
                    "PATCH", sample.item + "/scale", {"metadata": {"resourceVersion": "1"}}, MERGE
                ),
                Step("PUT", sample.item + "/scale", {"spec": {"replicas": 4}}),
                Step(
                    "PUT",
                    sample.item + "/scale",
                    {"metadata": {"name": "a"}, "spec": {"replicas": 4}},
                ),
                Step(
                    "PUT",
                    sample.item + "/scale",
                    {"metadata": {"name": "b"}, "spec": {"replicas": 4}},
                ),
                Step("PUT", sample.item + "/scale", sample.named()),
                Step("GET", sample.path + "/none/scale"),
                Step("PATCH", sample.path + "/none/scale", {}, MERGE),
                Step("GET", sample.item + "/scale"),
            )
        ],
    ),
]
