"""What random requests about parts, owners and lists found."""

from typing import Any

from tests.upstream.cases.found import BY_KIND
from tests.upstream.cases.found_patches import sent
from tests.upstream.exchange import APPLY, JSON_PATCH, MERGE, Case, Step
from tests.upstream.objects import JOB_TEMPLATE, SAMPLE, Sample
from tests.upstream.variants import DRY, merged, posts

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIALS = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
CLAIMS = BY_KIND["PersistentVolumeClaim"]
SETS = BY_KIND["ReplicaSet"]
WAITING = Sample(
    "Job",
    SAMPLE["Job"].path,
    {"spec": {"suspend": True, "template": JOB_TEMPLATE}},
)


DELETIONS: list[Any] = [
    {"dryRun": "All"},
    {"dryRun": 5},
    {"dryRun": ["x"], "propagationPolicy": "x"},
    {"dryRun": ["x"]},
    {"dryRun": []},
]


def placed(**fields: Any) -> Any:
    return {"spec": {"template": {"spec": fields}}}


def owned(sample: Sample, manager: str, body: Any, *, part: str = "", force: bool = False) -> Step:
    group = sample.path.split("/")[2:4]
    version = "v1" if sample.path.startswith("/api/") else "/".join(group)
    whole = {"apiVersion": version, "kind": sample.kind, **body}
    query = f"fieldManager={manager}{'&force=true' if force else ''}"
    return Step("PATCH", f"{sample.item}{part}?{query}", whole, APPLY)


CASES = [
    sent(
        "jobs that wait",
        WAITING,
        (MERGE, placed(nodeSelector={"a": "b"})),
        (MERGE, placed(tolerations=[{"operator": "Exists"}], schedulingGates=[{"name": "a/b"}])),
        (MERGE, {"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}),
        (MERGE, placed(affinity={"nodeAffinity": {}})),
        (MERGE, placed(affinity={"podAffinity": {}})),
        (MERGE, placed(dnsConfig={})),
        (MERGE, placed(hostIPC=True)),
        (MERGE, placed(containers=[{"name": "c", "image": "i:2"}])),
        (MERGE, {"spec": {"suspend": False, **placed(nodeSelector={"a": "b"})["spec"]}}),
    ),
    posts(
        "drivers of volumes",
        SAMPLE["CSIDriver"].path,
        [
            merged(SAMPLE["CSIDriver"].named(), {"spec": row})
            for row in (
                {"fsGroupPolicy": ""},
                {"fsGroupPolicy": "x"},
                {"volumeLifecycleModes": ["Ephemeral", "x", ""]},
                {"tokenRequests": [{"audience": "a"}, {"audience": "a", "expirationSeconds": 1}]},
                {"tokenRequests": [{"audience": "a", "expirationSeconds": 1}]},
                {"tokenRequests": [{"audience": "a", "expirationSeconds": 2**33}]},
                {"nodeAllocatableUpdatePeriodSeconds": 1},
                {"attachRequired": None, "podInfoOnMount": True},
            )
        ],
    ),
    sent(
        "drivers of volumes that change",
        SAMPLE["CSIDriver"],
        (MERGE, {"spec": {"attachRequired": False}}),
        (MERGE, {"spec": {"volumeLifecycleModes": ["Ephemeral"]}}),
        (MERGE, {"spec": {"fsGroupPolicy": "x"}}),
        (MERGE, {"spec": {"nodeAllocatableUpdatePeriodSeconds": 443}}),
        (MERGE, {"spec": {"podInfoOnMount": True}}),
    ),
    posts(
        "drivers of nodes",
        SAMPLE["CSINode"].path,
        [
            merged(SAMPLE["CSINode"].named(), {"spec": {"drivers": drivers}})
            for drivers in (
                [{"name": "", "nodeID": ""}],
                [{"name": "A.b", "nodeID": "n"}, {"name": "A.b", "nodeID": "n"}],
                [{"name": "x" * 64, "nodeID": "x" * 257}],
                [{"name": "a b", "nodeID": "n", "topologyKeys": ["", "a", "a", "a b"]}],
                [{"name": "a", "nodeID": "n", "allocatable": {"count": -1}}],
            )
        ],
    ),
    sent(
        "drivers of nodes that change",
        Sample(
            "CSINode",
            SAMPLE["CSINode"].path,
            {"spec": {"drivers": [{"name": "a", "nodeID": "n", "topologyKeys": ["k"]}]}},
        ),
        (MERGE, {"spec": {"drivers": [{"name": "a", "nodeID": "m"}]}}),
        (MERGE, {"spec": {"drivers": [{"name": "a", "nodeID": ""}]}}),
        (MERGE, {"spec": {"drivers": [{"name": "b", "nodeID": "m"}]}}),
        (MERGE, {"spec": {"drivers": []}}),
    ),
    sent(
        "attachments that change",
        SAMPLE["VolumeAttachment"],
        (MERGE, {"spec": {"nodeName": "-1"}}),
        (JSON_PATCH, [{"op": "remove", "path": "/spec/source/persistentVolumeName"}]),
    ),
    Case(
        "two who want the same",
        [
            Step("POST", SETS.path, SETS.named()),
            owned(SETS, "a", {"metadata": {"name": "a"}, "spec": {"replicas": 1}}),
            owned(SETS, "b", {"metadata": {"name": "a"}, "spec": {"replicas": 1}}),
            owned(SETS, "a", {"metadata": {"name": "a", "finalizers": []}}),
            owned(SETS, "b", {"metadata": {"name": "a"}, "spec": {"replicas": 2}}, force=True),
            owned(SETS, "c", {"metadata": {"name": "a"}, "status": {"replicas": 3}}),
            owned(
                SETS,
                "s",
                {"metadata": {"name": "a"}, "spec": {"replicas": 7}, "status": {"replicas": 3}},
                part="/status",
                force=True,
            ),
            Step("DELETE", SETS.item),
        ],
    ),
    Case(
        "one who wants something else",
        [
            Step("POST", SETS.path, SETS.named()),
            owned(
                SETS,
                "a",
                {
                    "metadata": {"name": "a"},
                    "spec": {
                        "template": {
                            "spec": {
                                "nodeSelector": {"kubernetes.io/os": "linux"},
                                "affinity": {"podAntiAffinity": None},
                                "containers": [{"name": "c", "args": ["b"]}],
                                "tolerations": [],
                            }
                        }
                    },
                },
            ),
            Step("DELETE", SETS.item),
        ],
    ),
    Case(
        "how to delete",
        [
            Step("POST", SETS.path, SETS.named()),
            *(Step("DELETE", f"{SETS.item}{DRY}", options) for options in DELETIONS),
            Step("DELETE", f"{SETS.item}?dryRun=x"),
            Step("DELETE", SETS.item),
        ],
        managed=False,
    ),
    Case(
        "how to be shown",
        [
            Step("POST", SETS.path, SETS.named()),
            *(
                Step("GET", f"{path}{query}", headers={"Accept": accept})
                for accept in (TABLE, PARTIAL, PARTIALS)
                for path in (SETS.path, SETS.item)
                for query in ("", "?includeObject=None")
            ),
            Step("GET", f"{SETS.path}?labelSelector=x", headers={"Accept": PARTIALS}),
            Step("GET", f"{SETS.path}?timeoutSeconds=x"),
            Step("DELETE", SETS.item),
        ],
        managed=False,
    ),
    posts(
        "where claims are filled from",
        CLAIMS.path,
        [
            merged(CLAIMS.named(), {"spec": row})
            for row in (
                {"dataSource": {"kind": "X", "name": "n"}},
                {"dataSource": {"apiGroup": " ", "name": "n"}, "dataSourceRef": {"apiGroup": "0"}},
                {"dataSourceRef": {"apiGroup": "x.io", "kind": "K", "name": "n"}},
                {"dataSourceRef": {"kind": "K", "name": "n", "namespace": "m"}},
                {"dataSource": {"kind": "PersistentVolumeClaim", "name": "n"}},
            )
        ],
    ),
    Case(
        "scales that are wrong",
        [
            Step("POST", SETS.path, SETS.named()),
            *(
                Step(
                    "PUT",
                    f"{SETS.item}/scale{DRY}",
                    {
                        "apiVersion": "autoscaling/v1",
                        "kind": "Scale",
                        "metadata": {"name": "a", "namespace": "{ns}", **metadata},
                        "spec": {"replicas": replicas},
                    },
                )
                for metadata, replicas in (
                    ({"labels": {"": "a b"}}, 1),
                    ({"finalizers": ["x"]}, 1),
                    ({"annotations": {"a b": ""}}, -1),
                    ({}, -1),
                    ({}, 2),
                )
            ),
            Step(
                "PATCH",
                f"{SETS.item}/scale{DRY}",
                [{"op": "remove", "path": "/metadata/name"}],
                JSON_PATCH,
            ),
            Step("DELETE", SETS.item),
        ],
        managed=False,
    ),
]
