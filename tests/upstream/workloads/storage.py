"""What becomes of claims and volumes that do not fit, are lost, reclaimed, grown or ephemeral."""

from tests.upstream.scenario import Json, Scenario, Step
from tests.upstream.steps import change, count, gone, look, make, pause, remove, until
from tests.upstream.workloads.shapes import claim, is_ready, pod
from tests.upstream.workloads.volumes import known, storage_class, volume

CLASS = "static-{ns}"


def bound(name: str = "data") -> Step:
    return until("PersistentVolumeClaim", name, lambda o: o["status"]["phase"] == "Bound")


def phase(name: str, word: str) -> Step:
    return until("PersistentVolume", name, lambda o: o["status"]["phase"] == word)


def attributes(name: str) -> Json:
    return {
        "kind": "VolumeAttributesClass",
        "metadata": {"name": name},
        "driverName": "d.example.com",
        "parameters": {"iops": "1"},
    }


def ephemeral(**metadata: Json) -> Json:
    spec = claim("x", storageClassName="none-{ns}")["spec"]
    template = {"spec": spec, **({"metadata": metadata} if metadata else {})}
    return {"name": "v", "ephemeral": {"volumeClaimTemplate": template}}


NFS = {"hostPath": None, "nfs": {"server": "192.0.2.1", "path": "/x"}}
CSI = {"hostPath": None, "csi": {"driver": "d.example.com", "volumeHandle": "{ns}"}}
SCENARIOS = [
    Scenario(
        "storage: nobody can delete it",
        [
            make(volume("{ns}-a", persistentVolumeReclaimPolicy="Delete", **NFS)),
            known("{ns}-a"),
            make(claim("data", storageClassName=CLASS)),
            bound(),
            remove("PersistentVolumeClaim", "data"),
            phase("{ns}-a", "Failed"),
        ],
        also=("PersistentVolume",),
    ),
    Scenario(
        "storage: a driver deletes it",
        [
            make(volume("{ns}-a", persistentVolumeReclaimPolicy="Delete", **CSI)),
            known("{ns}-a"),
            make(claim("data", storageClassName=CLASS)),
            bound(),
            remove("PersistentVolumeClaim", "data"),
            pause(2),
        ],
        also=("PersistentVolume",),
    ),
    Scenario(
        "storage: the volume is lost",
        [
            make(volume("{ns}-a")),
            known("{ns}-a"),
            make(claim("data", storageClassName=CLASS)),
            bound(),
            remove("PersistentVolume", "{ns}-a"),
            look("going"),
            change("PersistentVolume", "{ns}-a", {"metadata": {"finalizers": None}}),
            until("PersistentVolumeClaim", "data", lambda o: o["status"]["phase"] == "Lost"),
        ],
        also=("PersistentVolume",),
    ),
    Scenario(
        "storage: released for another",
        [
            make(volume("{ns}-a")),
            known("{ns}-a"),
            make(claim("data", storageClassName=CLASS)),
            bound(),
            remove("PersistentVolumeClaim", "data"),
            phase("{ns}-a", "Released"),
            make(claim("late", storageClassName=CLASS)),
            pause(2),
            look("refused"),
            change("PersistentVolume", "{ns}-a", {"spec": {"claimRef": None}}),
            pause(20),
            bound("late"),
        ],
        also=("PersistentVolume",),
        ignore=("#FailedBinding",),
        patient=True,
    ),
    Scenario(
        "storage: another mode",
        [
            make(volume("{ns}-a", volumeMode="Block")),
            known("{ns}-a"),
            make(claim("data", storageClassName=CLASS, volumeName="{ns}-a")),
            pause(2),
        ],
        also=("PersistentVolume",),
        ignore=("#VolumeMismatch",),
    ),
    Scenario(
        "storage: another size, access and class",
        [
            make(volume("{ns}-a")),
            known("{ns}-a"),
            make(
                claim("other", storageClassName="other-{ns}", volumeName="{ns}-a"),
                claim("shared", storageClassName=CLASS, accessModes=["ReadWriteMany"]),
                claim(
                    "large",
                    storageClassName=CLASS,
                    volumeName="{ns}-a",
                    resources={"requests": {"storage": "2Gi"}},
                ),
            ),
            pause(2),
        ],
        also=("PersistentVolume",),
        ignore=("#VolumeMismatch", "#FailedBinding"),
    ),
    Scenario(
        "storage: taken by another",
        [
            make(volume("{ns}-a")),
            known("{ns}-a"),
            make(claim("data", storageClassName=CLASS)),
            bound(),
            make(claim("late", storageClassName=CLASS, volumeName="{ns}-a")),
            make(claim("never", storageClassName=CLASS, volumeName="{ns}-none")),
            pause(2),
        ],
        also=("PersistentVolume",),
        ignore=("#FailedBinding",),
    ),
    Scenario(
        "storage: a provisioner elsewhere",
        [
            make(storage_class("{ns}-ext", provisioner="p.example.com")),
            pause(1),
            make(claim("data", storageClassName="{ns}-ext")),
            pause(2),
        ],
        also=("PersistentVolume",),
        ignore=("#ExternalProvisioning",),
    ),
    Scenario(
        "storage: a class without provisioner",
        [
            make(storage_class("{ns}-none")),
            pause(1),
            make(claim("data", storageClassName="{ns}-none")),
            pause(2),
        ],
        also=("PersistentVolume",),
        ignore=("#ProvisioningFailed",),
    ),
    Scenario(
        "storage: grown by a driver",
        [
            make(
                storage_class(CLASS, provisioner="d.example.com", allowVolumeExpansion=True),
                volume("{ns}-a", **CSI),
            ),
            known("{ns}-a"),
            pause(1),
            make(claim("data", storageClassName=CLASS)),
            bound(),
            change(
                "PersistentVolumeClaim",
                "data",
                {"spec": {"resources": {"requests": {"storage": "2Gi"}}}},
            ),
            pause(2),
        ],
        also=("PersistentVolume",),
        ignore=("#ExternalExpanding",),
    ),
    Scenario(
        "storage: a class of attributes in use",
        [
            make(attributes("{ns}-fast")),
            make(claim("data", storageClassName=CLASS, volumeAttributesClassName="{ns}-fast")),
            look("protected"),
            remove("VolumeAttributesClass", "{ns}-fast"),
            look("going"),
            remove("PersistentVolumeClaim", "data"),
            gone("VolumeAttributesClass", "{ns}-fast"),
        ],
        also=("VolumeAttributesClass",),
        ignore=("#FailedBinding", "#ProvisioningFailed"),
    ),
    Scenario(
        "storage: an ephemeral claim",
        [
            make(pod("a", volumes=[ephemeral(labels={"a": "b"}, annotations={"c": "d"})])),
            count("PersistentVolumeClaim", 1),
            look("made"),
            remove("Pod", "a"),
            count("PersistentVolumeClaim", 0),
        ],
        ignore=("#ProvisioningFailed", "Event.FailedScheduling", "#FailedBinding"),
    ),
    Scenario(
        "storage: an ephemeral claim of somebody else",
        [
            make(claim("a-v", storageClassName="none-{ns}")),
            make(pod("a", volumes=[ephemeral()])),
            pause(2),
        ],
        ignore=("#ProvisioningFailed", "#FailedScheduling", "#FailedBinding", "#ProvisioningFail"),
    ),
    Scenario(
        "storage: a pod that ended lets its claim go",
        [
            make(volume("{ns}-a")),
            known("{ns}-a"),
            make(claim("data", storageClassName=CLASS)),
            bound(),
            make(
                pod(
                    "a",
                    restartPolicy="Never",
                    annotations={"simulation.winkube.dev/exit": "after=0.1,code=0"},
                    volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}],
                )
            ),
            count("Pod", 1, lambda o: o["status"]["phase"] == "Succeeded"),
            remove("PersistentVolumeClaim", "data"),
            pause(1),
            look("ended"),
            remove("Pod", "a"),
            gone("PersistentVolumeClaim", "data"),
        ],
        also=("PersistentVolume",),
        ignore=("Event.FailedScheduling",),
    ),
    Scenario(
        "storage: two claims of one pod that waits",
        [
            make(
                storage_class("late-{ns}", volumeBindingMode="WaitForFirstConsumer"),
                volume("{ns}-a", storageClassName="late-{ns}"),
                volume("{ns}-b", storageClassName="late-{ns}"),
            ),
            known("{ns}-a"),
            known("{ns}-b"),
            pause(1),
            make(
                claim("one", storageClassName="late-{ns}"),
                claim("two", storageClassName="late-{ns}"),
                pod(
                    "a",
                    volumes=[
                        {"name": "v", "persistentVolumeClaim": {"claimName": "one"}},
                        {"name": "w", "persistentVolumeClaim": {"claimName": "two"}},
                    ],
                ),
            ),
            count("Pod", 1, is_ready),
            count("PersistentVolumeClaim", 2, lambda o: o["status"]["phase"] == "Bound"),
        ],
        also=("PersistentVolume",),
        ignore=(
            "#WaitForFirstConsumer",
            "Event.WaitForFirstConsumer",
            "Event.FailedScheduling",
            "PersistentVolumeClaim.spec.volumeName",
            "PersistentVolume.spec.claimRef",
        ),
    ),
]
