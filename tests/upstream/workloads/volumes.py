"""Persistent volumes: binding, waiting, retention, protection."""

from tests.upstream.scenario import Json, Scenario, Step
from tests.upstream.steps import count, gone, look, make, pause, remove, until
from tests.upstream.workloads.shapes import (
    claim,
    is_ready,
    pod,
)


def volume(name: str, **spec: Json) -> Json:
    made = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/tmp/none"},
        "storageClassName": "static-{ns}",
        **spec,
    }
    return {"kind": "PersistentVolume", "metadata": {"name": name}, "spec": made}


def storage_class(name: str, **fields: Json) -> Json:
    made = {"provisioner": "kubernetes.io/no-provisioner", **fields}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        **made,
    }


def known(name: str) -> Step:
    """Wait until the controllers have seen a volume: a claim before that finds none at first."""
    return until("PersistentVolume", name, lambda o: o["status"]["phase"] == "Available")


EPHEMERAL: Json = {
    "name": "v",
    "ephemeral": {
        "volumeClaimTemplate": {
            "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
            "spec": claim("", storageClassName="static-{ns}")["spec"],
        }
    },
}
SCENARIOS = [
    Scenario(
        "volume: static",
        [
            make(
                volume("{ns}-a", capacity={"storage": "5Gi"}),
                volume("{ns}-b", capacity={"storage": "2Gi"}),
            ),
            known("{ns}-a"),
            known("{ns}-b"),
            make(
                claim("data", storageClassName="static-{ns}"),
            ),
            until("PersistentVolumeClaim", "data", lambda o: o["status"]["phase"] == "Bound"),
        ],
        also=("PersistentVolume",),
    ),
    Scenario(
        "volume: reserved for a claim",
        [
            make(
                volume("{ns}-a", claimRef={"namespace": "{ns}", "name": "data"}),
            ),
            known("{ns}-a"),
            make(
                claim("data", storageClassName="static-{ns}"),
                claim("other", storageClassName="static-{ns}"),
            ),
            until("PersistentVolumeClaim", "data", lambda o: o["status"]["phase"] == "Bound"),
        ],
        also=("PersistentVolume",),
        ignore=("#FailedBinding",),
    ),
    Scenario(
        "volume: by name and by selector",
        [
            make(
                {
                    **volume("{ns}-a"),
                    "metadata": {"name": "{ns}-a", "labels": {"disk": "fast-{ns}"}},
                },
                volume("{ns}-b"),
            ),
            known("{ns}-a"),
            known("{ns}-b"),
            make(
                claim("named", storageClassName="static-{ns}", volumeName="{ns}-b"),
                claim(
                    "chosen",
                    storageClassName="static-{ns}",
                    selector={"matchLabels": {"disk": "fast-{ns}"}},
                ),
            ),
            count("PersistentVolumeClaim", 2, lambda o: o["status"]["phase"] == "Bound"),
        ],
        also=("PersistentVolume",),
    ),
    Scenario(
        "volume: none fits",
        [
            make(
                volume("{ns}-a", capacity={"storage": "1Mi"}),
            ),
            known("{ns}-a"),
            make(
                claim("data", storageClassName="static-{ns}"),
            ),
            pause(2),
        ],
        also=("PersistentVolume",),
        ignore=("#FailedBinding", "#ProvisioningFailed"),
    ),
    Scenario(
        "volume: wait for the first consumer",
        [
            make(
                storage_class("late-{ns}", volumeBindingMode="WaitForFirstConsumer"),
                volume("{ns}-a", storageClassName="late-{ns}"),
            ),
            known("{ns}-a"),
            # Nothing shows that the class, too, has been seen.
            pause(1),
            make(
                claim("data", storageClassName="late-{ns}"),
            ),
            pause(2),
            look("waiting"),
            make(pod("a", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])),
            count("Pod", 1, is_ready),
        ],
        also=("PersistentVolume",),
        ignore=("#WaitForFirstConsumer",),
    ),
    Scenario(
        "volume: retained after its claim",
        [
            make(volume("{ns}-a")),
            known("{ns}-a"),
            make(claim("data", storageClassName="static-{ns}")),
            until("PersistentVolumeClaim", "data", lambda o: o["status"]["phase"] == "Bound"),
            remove("PersistentVolumeClaim", "data"),
            gone("PersistentVolumeClaim", "data"),
            until("PersistentVolume", "{ns}-a", lambda o: o["status"]["phase"] == "Released"),
        ],
        also=("PersistentVolume",),
    ),
    Scenario(
        "volume: of one pod",
        [
            make(volume("{ns}-a")),
            known("{ns}-a"),
            make(pod("a", volumes=[EPHEMERAL])),
            count("Pod", 1, is_ready),
            look("in use"),
            remove("Pod", "a"),
            gone("PersistentVolumeClaim", "a-v"),
            until("PersistentVolume", "{ns}-a", lambda o: o["status"]["phase"] == "Released"),
        ],
        also=("PersistentVolume",),
        ignore=("Event.FailedScheduling",),
    ),
    Scenario(
        "volume: of one pod, but the claim is another's",
        [
            make(claim("a-v", storageClassName="static-{ns}")),
            pause(1),
            make(pod("a", volumes=[EPHEMERAL])),
            count("Event", 1, lambda o: o["reason"] == "FailedScheduling"),
        ],
        ignore=("#FailedBinding", "#ProvisioningFailed"),
    ),
    Scenario(
        "volume: protection",
        [
            make(
                volume("{ns}-a"),
            ),
            known("{ns}-a"),
            make(
                claim("data", storageClassName="static-{ns}"),
                pod("a", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]),
            ),
            count("Pod", 1, is_ready),
            remove("PersistentVolumeClaim", "data"),
            remove("PersistentVolume", "{ns}-a"),
            look("in use"),
            remove("Pod", "a"),
            gone("PersistentVolumeClaim", "data"),
            gone("PersistentVolume", "{ns}-a"),
        ],
        also=("PersistentVolume",),
        ignore=("Event.FailedScheduling",),
    ),
]
