"""PersistentVolumes and PersistentVolumeClaims."""

from typing import Any

from tests.upstream.cases.pods_volumes import SOURCES
from tests.upstream.exchange import MERGE, Case, Step
from tests.upstream.variants import DRY, merged

VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/namespaces/{ns}/persistentvolumeclaims"
CLAIM = {
    "metadata": {"name": "c"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
VOLUME = {
    "metadata": {"name": "{ns}"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/a"},
    },
}
AFFINITY = {
    "required": {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
        ]
    }
}
NOT_PERSISTENT = (
    "emptyDir", "gitRepo", "secret", "configMap", "downwardAPI", "projected", "ephemeral", "image",
    "persistentVolumeClaim", "csi",
)  # fmt: skip


def _claims(name: str, *rows: dict[str, Any]) -> Case:
    bodies = [merged(CLAIM, {"spec": row}) for row in rows]
    return Case(name, [Step("POST", f"{CLAIMS}{DRY}", body) for body in bodies], managed=False)


def _volumes(name: str, *rows: dict[str, Any]) -> Case:
    bodies = [merged(VOLUME, {"spec": row}) for row in rows]
    return Case(name, [Step("POST", f"{VOLUMES}{DRY}", body) for body in bodies], managed=False)


def _asks(storage: Any) -> dict[str, Any]:
    return {"resources": {"requests": {"storage": storage}}}


def _patches(path: str, *patches: Any) -> list[Step]:
    return [Step("PATCH", f"{path}{DRY}", patch, MERGE) for patch in patches]


CASES = [
    _claims(
        "claims",
        {},
        {"accessModes": []},
        {"accessModes": ["Bad"]},
        {"accessModes": ["ReadWriteOncePod"]},
        {"accessModes": ["ReadWriteOncePod", "ReadWriteOnce"]},
        {"accessModes": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"]},
        {"resources": {"requests": ...}},
        _asks("0"),
        _asks("-1"),
        _asks("1.5"),
        _asks("100m"),
        _asks(5),
        {"resources": {"limits": {"storage": "2Gi"}}},
        {"storageClassName": "a"},
        {"storageClassName": ""},
        {"storageClassName": "A_"},
        {"volumeMode": "Block"},
        {"volumeMode": "Bad"},
        {"volumeMode": ""},
        {"volumeName": "v"},
        {"volumeName": "V_"},
        {"selector": {"matchLabels": {"a": "b"}}},
        {"selector": {"matchLabels": {"a b": "c"}}},
        {"selector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}},
        {"dataSource": {"kind": "PersistentVolumeClaim", "name": "x"}},
        {"dataSource": {"kind": "VolumeSnapshot", "name": "x"}},
        {"dataSource": {"apiGroup": "snapshot.storage.k8s.io", "kind": "S", "name": "x"}},
        {"dataSource": {}},
        {"dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "x"}},
        {"dataSourceRef": {"apiGroup": "a.b", "kind": "K", "name": "x"}},
        {"dataSourceRef": {"apiGroup": "A_", "kind": "K", "name": "x"}},
        {"dataSourceRef": {"apiGroup": "a.b", "kind": "K", "name": "x", "namespace": "n"}},
        {
            "dataSource": {"kind": "PersistentVolumeClaim", "name": "x"},
            "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "y"},
        },
        {"volumeAttributesClassName": "a"},
        {"volumeAttributesClassName": ""},
        {"volumeAttributesClassName": "A_"},
    ),
    Case(
        "claims as a whole",
        [
            Step("POST", f"{CLAIMS}{DRY}", body)
            for body in (
                {"metadata": {"name": "c"}},
                {"metadata": {"name": "C_"}, "spec": CLAIM["spec"]},
                merged(CLAIM, {"status": {"phase": "Bound"}}),
                merged(
                    CLAIM,
                    {"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "a"}}},
                ),
            )
        ],
        managed=False,
    ),
    Case(
        "changes of a claim",
        [
            Step("POST", CLAIMS, merged(CLAIM, {"spec": {"storageClassName": "a"}})),
            *_patches(
                f"{CLAIMS}/c",
                {"spec": {"volumeName": "v"}},
                {"spec": _asks("2Gi")},
                {"spec": _asks("500Mi")},
                {"spec": {"storageClassName": "b"}},
                {"spec": {"storageClassName": None}},
                {"spec": {"accessModes": ["ReadOnlyMany"]}},
                {"spec": {"volumeMode": "Block"}},
                {"spec": {"selector": {"matchLabels": {"a": "b"}}}},
                {"spec": {"volumeAttributesClassName": "x"}},
                {"metadata": {"labels": {"a": "b"}}},
                {"status": {"phase": "Bound"}},
            ),
            *_patches(
                f"{CLAIMS}/c/status",
                {"status": {"phase": "Bound"}},
                {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}},
                {"status": {"capacity": {"storage": "-1"}}},
                {"status": {"allocatedResources": {"storage": "2Gi"}}},
                {"status": {"allocatedResources": {"cpu": "1"}}},
                {"status": {"allocatedResourceStatuses": {"storage": "NodeResizePending"}}},
                {"status": {"allocatedResourceStatuses": {"storage": "Bad"}}},
                {"status": {"conditions": [{"type": "Resizing", "status": "True"}]}},
                {"spec": {"volumeName": "v"}},
            ),
            Step("PATCH", f"{CLAIMS}/c", {"spec": {"volumeName": "v"}}, MERGE),
            *_patches(f"{CLAIMS}/c", {"spec": {"volumeName": "w"}}, {"spec": {"volumeName": None}}),
            Step(
                "PATCH",
                f"{CLAIMS}/c/status",
                {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}},
                MERGE,
            ),
            *_patches(
                f"{CLAIMS}/c",
                {"spec": _asks("2Gi")},
                {"spec": _asks("500Mi")},
                {"spec": {"volumeAttributesClassName": "x"}},
            ),
            Step("DELETE", f"{CLAIMS}/c"),
            Step("GET", f"{CLAIMS}/c"),
        ],
        managed=False,
    ),
    Case(
        "a class for a claim that had none",
        [
            Step("POST", CLAIMS, CLAIM),
            *_patches(
                f"{CLAIMS}/c",
                {"spec": {"storageClassName": "b"}},
                {"spec": {"storageClassName": ""}},
            ),
        ],
        managed=False,
    ),
    _volumes(
        "volumes",
        {},
        {"accessModes": []},
        {"accessModes": ["Bad"]},
        {"accessModes": ["ReadWriteOncePod", "ReadWriteOnce"]},
        {"capacity": ...},
        {"capacity": {"storage": ..., "cpu": "1"}},
        {"capacity": {"storage": "0"}},
        {"capacity": {"storage": "-1"}},
        {"capacity": {"storage": "1.5"}},
        {"persistentVolumeReclaimPolicy": "Bad"},
        {"persistentVolumeReclaimPolicy": "Delete"},
        {"persistentVolumeReclaimPolicy": "Recycle", "hostPath": {"path": "/"}},
        {"persistentVolumeReclaimPolicy": ""},
        {"storageClassName": "a"},
        {"storageClassName": "A_"},
        {"volumeMode": "Block"},
        {"volumeMode": "Bad"},
        {"mountOptions": ["a"]},
        {"hostPath": ...},
        {"nfs": {"server": "s", "path": "/p"}},
        {"nodeAffinity": AFFINITY},
        {"nodeAffinity": {}},
        {"nodeAffinity": {"required": {"nodeSelectorTerms": []}}},
        {
            "nodeAffinity": {
                "required": {
                    "nodeSelectorTerms": [
                        {
                            "matchExpressions": [
                                {
                                    "key": "failure-domain.beta.kubernetes.io/zone",
                                    "operator": "In",
                                    "values": ["b"],
                                }
                            ]
                        }
                    ]
                }
            }
        },
        {"claimRef": {"name": "c", "namespace": "n"}},
        {"claimRef": {"name": "c"}},
        {"claimRef": {"namespace": "n"}},
        {"claimRef": {}},
        {"volumeAttributesClassName": "a"},
        {"volumeAttributesClassName": ""},
        {"hostPath": ..., "local": {"path": "/a"}},
        {"hostPath": ..., "local": {"path": "/a"}, "nodeAffinity": AFFINITY},
        {"hostPath": ..., "local": {"path": ""}, "nodeAffinity": AFFINITY},
        {"hostPath": ..., "local": {"path": "/a/../b"}, "nodeAffinity": AFFINITY},
    ),
    *(
        _volumes(
            f"volumes of {kind}",
            *({"hostPath": ..., kind: row} for row in ({}, *rows)),
        )
        for kind, rows in SOURCES.items()
        if kind not in (*NOT_PERSISTENT, "hostPath")
    ),
    _volumes(
        "volumes of csi",
        *(
            {"hostPath": ..., "csi": row}
            for row in (
                {},
                {"driver": "d", "volumeHandle": "h"},
                {"driver": "D e", "volumeHandle": "h"},
                {"driver": "d"},
                {"driver": "d", "volumeHandle": "h", "nodePublishSecretRef": {}},
                {"driver": "d", "volumeHandle": "h", "controllerExpandSecretRef": {"name": "S"}},
                {
                    "driver": "d",
                    "volumeHandle": "h",
                    "nodeStageSecretRef": {"name": "s", "namespace": "n"},
                },
            )
        ),
        {
            "hostPath": ...,
            "csi": {"driver": "d", "volumeHandle": "h"},
            "volumeAttributesClassName": "a",
        },
    ),
    _volumes(
        "volumes with secrets of their own",
        {"hostPath": ..., "cinder": {"volumeID": "v", "secretRef": {"name": "a"}}},
        {
            "hostPath": ...,
            "azureFile": {"secretName": "s", "shareName": "h", "secretNamespace": ""},
        },
        {"hostPath": ..., "glusterfs": {"endpoints": "e", "path": "p", "endpointsNamespace": ""}},
        {"hostPath": ..., "glusterfs": {"endpoints": "e", "path": "p", "endpointsNamespace": "N"}},
        {"hostPath": ..., "storageos": {"volumeName": "v", "secretRef": {"name": "s"}}},
    ),
    Case(
        "changes of a volume",
        [
            Step("POST", VOLUMES, VOLUME),
            *_patches(
                f"{VOLUMES}/{{ns}}",
                {"spec": {"capacity": {"storage": "2Gi"}}},
                {"spec": {"hostPath": {"path": "/b"}}},
                {"spec": {"hostPath": None, "nfs": {"server": "s", "path": "/p"}}},
                {"spec": {"accessModes": ["ReadOnlyMany"]}},
                {"spec": {"persistentVolumeReclaimPolicy": "Delete"}},
                {"spec": {"volumeMode": "Block"}},
                {"spec": {"storageClassName": "x"}},
                {"spec": {"nodeAffinity": AFFINITY}},
                {"spec": {"claimRef": {"name": "c", "namespace": "n"}}},
                {"metadata": {"labels": {"a": "b"}}},
                {"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "x"}}},
                {"status": {"phase": "Bound"}},
            ),
            *_patches(
                f"{VOLUMES}/{{ns}}/status",
                {"status": {"phase": "Bound"}},
                {"status": {"phase": "Dancing"}},
                {"status": {"phase": "Failed", "reason": "r", "message": "m"}},
                {"spec": {"claimRef": {"name": "c", "namespace": "n"}}},
            ),
            Step("PATCH", f"{VOLUMES}/{{ns}}", {"spec": {"nodeAffinity": AFFINITY}}, MERGE),
            *_patches(f"{VOLUMES}/{{ns}}", {"spec": {"nodeAffinity": None}}),
            Step("DELETE", f"{VOLUMES}/{{ns}}"),
        ],
        managed=False,
    ),
]
