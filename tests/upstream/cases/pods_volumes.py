"""Volumes of a pod: every source, what it needs and what it may not have."""

from typing import Any

from tests.upstream.exchange import Case
from tests.upstream.variants import PODS, pod, pods, posts

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
# The least a source needs, and fields that are wrong in it.
SOURCES: dict[str, tuple[dict[str, Any], ...]] = {
    "emptyDir": (
        {"medium": "Memory", "sizeLimit": "1Gi"},
        {"medium": "HugePages"},
        {"medium": "HugePages-2Mi"},
        {"medium": "Tape"},
        {"sizeLimit": "-1"},
        {"sizeLimit": "1m"},
    ),
    "hostPath": (
        {"path": "/a"},
        {"path": ""},
        {"path": "/a/../b"},
        {"path": "a"},
        {"path": "/a", "type": "Directory"},
        {"path": "/a", "type": "Pipe"},
        {"path": "/a", "type": ""},
    ),
    "gitRepo": (
        {"repository": "r"},
        {"directory": "/a"},
        {"repository": "r", "directory": "../a"},
    ),
    "gcePersistentDisk": (
        {"pdName": "a"},
        {"pdName": "a", "partition": 256},
        {"pdName": "a", "partition": -1},
    ),
    "awsElasticBlockStore": (
        {"volumeID": "a"},
        {"volumeID": "a", "partition": -1},
    ),
    "secret": (
        {"secretName": "s"},
        {"secretName": "S_"},
        {"secretName": "s", "defaultMode": 512},
        {"secretName": "s", "defaultMode": -1},
        {"secretName": "s", "optional": True},
        {"secretName": "s", "items": [{}]},
        {"secretName": "s", "items": [{"key": "a", "path": "/p"}]},
        {"secretName": "s", "items": [{"key": "a", "path": "../p"}]},
        {"secretName": "s", "items": [{"key": "a", "path": "..p"}]},
        {"secretName": "s", "items": [{"key": "a", "path": "p/../q", "mode": 1000}]},
        {"secretName": "s", "items": [{"key": "a b", "path": "p"}]},
        {"secretName": "s", "items": [{"key": "a", "path": "p"}] * 2},
    ),
    "configMap": (
        {"name": "s"},
        {"name": "s", "defaultMode": 512},
        {"name": "s", "items": [{"path": "p"}]},
        {"name": "s", "items": [{"key": "a", "path": ""}]},
        {"name": "s", "items": [{"key": "a", "path": "x/.."}]},
    ),
    "nfs": (
        {"server": "s", "path": "/p"},
        {"server": "s", "path": "p"},
    ),
    "iscsi": (
        {"targetPortal": "1.2.3.4:3260", "iqn": "iqn.2015-02.example.com:test", "lun": 1},
        {"targetPortal": "1.2.3.4", "iqn": "eui.0123456789ABCDEF", "lun": 0},
        {"targetPortal": "1.2.3.4", "iqn": "naa.60004567BA64678123456789ABCDEF01", "lun": 0},
        {"targetPortal": "1.2.3.4", "iqn": "iqn.bad", "lun": 1},
        {"targetPortal": "1.2.3.4", "iqn": "eui.1", "lun": 256},
        {"targetPortal": "1.2.3.4", "iqn": "naa.1", "lun": -1},
        {"targetPortal": "1.2.3.4", "iqn": "x", "chapAuthDiscovery": True},
        {"targetPortal": "1.2.3.4", "iqn": "iqn.2015-02.example.com:test", "initiatorName": "x"},
        {
            "targetPortal": "1.2.3.4",
            "iqn": "iqn.2015-02.example.com:test",
            "chapAuthSession": True,
        },
    ),
    "glusterfs": (
        {"endpoints": "e", "path": "p"},
        {"endpoints": "e"},
    ),
    "persistentVolumeClaim": (
        {"claimName": "c"},
        {"claimName": "C_", "readOnly": True},
    ),
    "rbd": ({"monitors": ["m"], "image": "i"}, {"monitors": [], "image": ""}),
    "flexVolume": (
        {"driver": "d/e"},
        {"driver": "d", "options": {"kubernetes.io/x": "1"}},
        {"driver": "d", "options": {"a": "1"}},
    ),
    "cinder": (
        {"volumeID": "v"},
        {"volumeID": "v", "secretRef": {}},
        {"volumeID": "v", "secretRef": {"name": "s"}},
    ),
    "cephfs": ({"monitors": ["m"]},),
    "flocker": (
        {"datasetName": "d"},
        {"datasetUUID": "d"},
        {"datasetName": "d", "datasetUUID": "e"},
        {"datasetName": "a/b"},
    ),
    "downwardAPI": (
        {"items": []},
        {"items": [{}]},
        {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.labels"}}]},
        {"items": [{"path": "p", "fieldRef": {"fieldPath": "status.podIP"}}]},
        {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.annotations['a']"}}]},
        {"items": [{"path": "/p", "fieldRef": {"fieldPath": "metadata.name"}, "mode": 512}]},
        {"items": [{"path": "p", "resourceFieldRef": {"resource": "limits.cpu"}}]},
        {
            "items": [
                {
                    "path": "p",
                    "resourceFieldRef": {"resource": "limits.cpu", "containerName": "c"},
                }
            ]
        },
        {
            "items": [
                {
                    "path": "p",
                    "fieldRef": {"fieldPath": "metadata.name"},
                    "resourceFieldRef": {"resource": "limits.x", "containerName": "c"},
                }
            ]
        },
        {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}] * 2},
        {"items": [], "defaultMode": 1000},
    ),
    "fc": (
        {"targetWWNs": ["w"], "lun": 0},
        {"targetWWNs": ["w"]},
        {"wwids": ["w"]},
        {"wwids": ["w"], "targetWWNs": ["w"], "lun": 0},
        {"targetWWNs": ["w"], "lun": 256},
    ),
    "azureFile": (
        {"secretName": "s", "shareName": "h"},
        {"secretName": "s"},
    ),
    "vsphereVolume": ({"volumePath": "p"},),
    "quobyte": (
        {"registry": "r:1", "volume": "v"},
        {"registry": "r", "volume": "v"},
        {"registry": "r:1,s:2", "volume": "v", "tenant": "a" * 65},
    ),
    "azureDisk": (
        {"diskName": "d", "diskURI": "https://b"},
        {"diskName": "d", "diskURI": "b"},
        {"diskName": "d", "diskURI": "/subscriptions/x", "kind": "Managed"},
        {"diskName": "d", "diskURI": "https://b", "cachingMode": "x", "kind": "y"},
    ),
    "photonPersistentDisk": ({"pdID": "p"},),
    "portworxVolume": ({"volumeID": "v"},),
    "scaleIO": (
        {"gateway": "g", "system": "s", "secretRef": {"name": "s"}, "volumeName": "v"},
        {"gateway": "g"},
    ),
    "storageos": (
        {"volumeName": "v"},
        {"volumeName": "V", "volumeNamespace": "N", "secretRef": {}},
    ),
    "csi": (
        {"driver": "d"},
        {"driver": "D e"},
        {"driver": "d" * 64},
        {"driver": "d", "nodePublishSecretRef": {}},
        {"driver": "d", "nodePublishSecretRef": {"name": "S"}},
        {"driver": "d", "volumeAttributes": {"a": "b"}, "readOnly": True, "fsType": "ext4"},
    ),
    "ephemeral": (
        {"volumeClaimTemplate": {"spec": CLAIM}},
        {"volumeClaimTemplate": {}},
        {"volumeClaimTemplate": {"metadata": {"labels": {"a b": "c"}}, "spec": CLAIM}},
        {"volumeClaimTemplate": {"metadata": {"name": "x"}, "spec": CLAIM}},
        {"volumeClaimTemplate": {"spec": {"accessModes": ["Bad"]}}},
    ),
    "image": ({"reference": "i:1"}, {"pullPolicy": "Always"}),
    "projected": ({"sources": []}, {"sources": [{}]}, {"defaultMode": 1000, "sources": []}),
}
PROJECTIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "secret": ({"name": "s"}, {"name": "s", "items": [{"key": "a"}]}),
    "configMap": ({"name": "s"}, {"name": "s", "items": [{"key": "a", "path": "/a"}]}),
    "downwardAPI": (
        {"items": [{"path": "p"}]},
        {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]},
    ),
    "serviceAccountToken": (
        {"path": "p"},
        {"path": "/p"},
        {"path": "p", "expirationSeconds": 599},
        {"path": "p", "expirationSeconds": 1 << 33},
        {"path": "p", "audience": "a", "expirationSeconds": 600},
    ),
    "clusterTrustBundle": (
        {"path": "p", "name": "n"},
        {"path": "p", "signerName": "n"},
    ),
    "podCertificate": ({"signerName": "a/b", "keyType": "ED25519"},),
}


def _volume(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "v", **source}]}


def _projected(*sources: Any) -> dict[str, Any]:
    return _volume(projected={"sources": list(sources)})


def _source(kind: str, rows: tuple[dict[str, Any], ...]) -> Case:
    return pods(f"source {kind}", *(_volume(**{kind: row}) for row in ({}, *rows)))


CASES = [
    pods(
        "volumes",
        {"volumes": [{}]},
        {"volumes": [{"name": ""}]},
        {"volumes": [{"name": "V_"}]},
        {"volumes": [{"name": "a" * 64, "emptyDir": {}}]},
        {"volumes": [{"name": "v"}]},
        {"volumes": [{"name": "v"}, {"name": "v"}]},
        _volume(emptyDir={}, hostPath={"path": "/a"}),
        _volume(emptyDir={}, hostPath={"path": ""}, secret={}),
        _volume(secret={"secretName": "s"}, configMap={"name": "s"}, csi={"driver": "d"}),
    ),
    *(_source(kind, rows) for kind, rows in SOURCES.items()),
    *(
        pods(
            f"projection {kind}",
            *(_projected({kind: row}) for row in ({}, *rows)),
        )
        for kind, rows in PROJECTIONS.items()
    ),
    pods(
        "projections that meet",
        _projected(
            {"secret": {"name": "a", "items": [{"key": "a", "path": "p"}]}},
            {"configMap": {"name": "a", "items": [{"key": "a", "path": "p"}]}},
        ),
        _projected(
            {"secret": {"name": "a", "items": [{"key": "a", "path": "p"}]}},
            {"serviceAccountToken": {"path": "p"}},
        ),
        _projected(
            {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            {"serviceAccountToken": {"path": "p/q"}},
        ),
        _projected({"secret": {"name": "a"}, "configMap": {"name": "a"}}),
        _projected({"secret": {"name": "a"}}, {"secret": {"name": "a"}}),
    ),
    posts(
        "an image volume that is mounted",
        PODS,
        [
            pod(
                {
                    **_volume(image={"reference": "i"}),
                    "containers": [
                        {
                            "name": "c",
                            "image": "i:1",
                            "volumeMounts": [{"name": "v", "mountPath": "/m"}],
                        }
                    ],
                }
            )
        ],
    ),
]
