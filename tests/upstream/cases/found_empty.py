"""Found by random requests: what messages show of objects, lists given empty among it."""

from typing import Any

from tests.upstream.exchange import Case, Step
from tests.upstream.objects import JOB_TEMPLATE, SAMPLE, SELECTOR, Sample
from tests.upstream.variants import DRY, merged

Json = Any
CLAIM = Sample(
    "PersistentVolumeClaim",
    "/api/v1/namespaces/{ns}/persistentvolumeclaims",
    {
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "selector": {"matchLabels": {"b": "c", "a": "b"}},
        }
    },
)
TERM = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
VOLUME = Sample(
    "PersistentVolume",
    "/api/v1/persistentvolumes",
    {
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "hostPath": {"path": "/tmp/x"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [TERM]}},
        }
    },
)
INDEXED = {"completionMode": "Indexed", "completions": 3, "backoffLimitPerIndex": 1}
JOB = Sample(
    "Job",
    SAMPLE["Job"].path,
    {
        "spec": {
            **INDEXED,
            "template": JOB_TEMPLATE,
            "successPolicy": {"rules": [{"succeededIndexes": "0-1"}]},
            "podFailurePolicy": {
                "rules": [
                    {"action": "Ignore", "onPodConditions": [{"type": "X", "status": "True"}]},
                    {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [1]}},
                ]
            },
        }
    },
)
BUDGET = SAMPLE["PodDisruptionBudget"]
ATTACHMENT = SAMPLE["VolumeAttachment"]


def changed(sample: Sample, *rows: Json) -> Case:
    """Its spec with one thing changed at a time; nothing is kept."""
    bodies = (merged(sample.named(), {"spec": row}) for row in rows)
    return Case(
        f"changes of a {sample.kind}",
        [
            Step("POST", sample.path, sample.named()),
            *(Step("PUT", f"{sample.item}{DRY}", body) for body in bodies),
            Step("DELETE", sample.item),
        ],
        managed=False,
    )


def terms(*listed: Json) -> Json:
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": list(listed)}}}


def expressions(**labels: str) -> Json:
    entry = {"values": ["v", "u"], "operator": "In", "key": "k"}
    return {"selector": {"matchExpressions": [entry], "matchLabels": labels}}


NOTHING: tuple[Json, ...] = (
    {"template": {"metadata": {"labels": {"app": ...}}}},
    {"template": {"metadata": ...}},
    {"selector": {"matchLabels": {}, "matchExpressions": []}},
    {"selector": {**SELECTOR, "matchExpressions": [{"operator": "In", "key": "a"}]}},
)
CASES = [
    changed(
        CLAIM,
        {"accessModes": []},
        {"resources": {"limits": {}}, "volumeName": "v"},
        expressions(z="1", y="2"),
        {"selector": {"matchLabels": {"c": "d"}, "matchExpressions": []}},
        {"selector": {"matchLabels": {"b": "c", "a": "b", "0": "x"}}},
    ),
    changed(
        VOLUME,
        terms({"matchExpressions": []}),
        terms(),
        terms({"matchFields": [], "matchExpressions": [{"key": "x", "operator": "Exists"}]}),
    ),
    changed(
        JOB,
        {"successPolicy": {"rules": [{"succeededCount": 2}]}},
        {"successPolicy": {"rules": [{"succeededIndexes": "2", "succeededCount": 1}]}},
        {"successPolicy": ...},
        {"successPolicy": {"rules": []}},
        {"podFailurePolicy": {"rules": [{"action": "Count", "onPodConditions": [{"type": "Y"}]}]}},
        {
            "podFailurePolicy": {
                "rules": [
                    {
                        "action": "FailJob",
                        "onExitCodes": {
                            "containerName": "c",
                            "operator": "NotIn",
                            "values": [0, 1],
                        },
                    }
                ]
            }
        },
        {"podFailurePolicy": ...},
        {"template": {"spec": {"nodeSelector": {}, "tolerations": [], "hostNetwork": True}}},
        {"template": {"metadata": {"annotations": {}, "finalizers": [], "name": "n"}}},
        {"selector": {"matchExpressions": [{"operator": "Exists", "key": "k"}]}},
        {
            "template": {
                "spec": {
                    "containers": [
                        {
                            "name": "c",
                            "image": "i:1",
                            "livenessProbe": {"tcpSocket": {"port": "", "host": "h"}},
                        }
                    ]
                }
            }
        },
    ),
    changed(
        BUDGET,
        {"maxUnavailable": 1},
        {"maxUnavailable": 1, **expressions(z="1", a="2")},
        {"maxUnavailable": 1, "selector": {"matchLabels": {}, "matchExpressions": []}},
    ),
    changed(
        ATTACHMENT,
        {
            "source": {
                "persistentVolumeName": ...,
                "inlineVolumeSpec": {
                    "accessModes": ["ReadWriteOnce"],
                    "capacity": {"storage": "1"},
                    "csi": {"driver": "d.example.com", "volumeHandle": "h"},
                },
            }
        },
        {"nodeName": "other"},
        *(
            {"source": {"persistentVolumeName": ..., "inlineVolumeSpec": inline}}
            for inline in (
                {"iscsi": {"targetPortal": "192.0.2.1", "iqn": "iqn.2015-01.com.example:x"}},
                {"hostPath": {"path": "/x"}, "capacity": {"storage": "1500m"}},
                {"scaleIO": {"gateway": "g", "system": "s", "secretRef": {"name": "n"}}},
            )
        ),
    ),
    Case(
        "selectors that select nothing",
        [
            Step("POST", f"{SAMPLE[kind].path}{DRY}", merged(SAMPLE[kind].named(), {"spec": row}))
            for kind in ("Deployment", "DaemonSet", "StatefulSet")
            for row in NOTHING
        ],
        managed=False,
    ),
]
