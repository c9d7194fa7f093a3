"""Make volumes that are folders of a node, for claims whose class asks for them.

The folder comes into being when a pod first mounts it, and the node's kubelet removes it: a volume
of ours carries a finalizer until its folder is gone. Where no kubelet can do that any more (the
node has left the cluster), or must not (the volume is to be retained), we take the finalizer off.
"""

import ntpath
import posixpath
from typing import Final

from winkube.api.errors import AlreadyExistsError, NotFoundError
from winkube.api.meta import (
    annotations_of,
    is_deleting,
    key_of,
    labels_of,
    metadata,
    name_of,
    namespace_of,
    uid_of,
)
from winkube.api.volumes import (
    EXTERNAL_FINALIZER,
    LOCAL_PATH,
    LOCAL_PATH_NODE,
    PROVISIONED_BY,
    PROVISIONER,
    SELECTED_NODE,
    claim_reference,
    class_of,
)
from winkube.base.errors import WinkubeError
from winkube.base.types import JsonObject
from winkube.client.resource import (
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    STORAGECLASSES,
)
from winkube.controllers.config import ControllerConfig
from winkube.controllers.controller import Context, Controller
from winkube.controllers.volume.usage import CLAIMS, VOLUMES, tenant_of

_HOSTNAME: Final = "kubernetes.io/hostname"
_OS: Final = "kubernetes.io/os"


class ProvisioningError(WinkubeError):
    pass


def new_volume(
    claim: JsonObject, storage_class: JsonObject, node: JsonObject, config: ControllerConfig
) -> JsonObject:
    name = f"pvc-{uid_of(claim)}"
    spec = claim["spec"]
    policy = storage_class.get("reclaimPolicy") or "Delete"
    body: JsonObject = {
        "capacity": {"storage": spec["resources"]["requests"]["storage"]},
        "accessModes": spec.get("accessModes") or [],
        "persistentVolumeReclaimPolicy": policy,
        "storageClassName": class_of(claim),
        "volumeMode": spec.get("volumeMode") or "Filesystem",
        "claimRef": claim_reference(claim),
        "hostPath": {"path": _folder(name, claim, node, config), "type": "DirectoryOrCreate"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [_only(node)]}},
    }
    if storage_class.get("mountOptions"):
        body["mountOptions"] = storage_class["mountOptions"]
    meta: JsonObject = {
        "name": name,
        "annotations": {PROVISIONED_BY: LOCAL_PATH},
        "labels": {LOCAL_PATH_NODE: name_of(node)},
    }
    if policy == "Delete":
        meta["finalizers"] = [EXTERNAL_FINALIZER]
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta, "spec": body}


def _only(node: JsonObject) -> JsonObject:
    """The term that names this node, by its host name as is usual, if it has one."""
    host = labels_of(node).get(_HOSTNAME)
    if host is None:
        named = {"key": "metadata.name", "operator": "In", "values": [name_of(node)]}
        return {"matchFields": [named]}
    return {"matchExpressions": [{"key": _HOSTNAME, "operator": "In", "values": [host]}]}


def _folder(name: str, claim: JsonObject, node: JsonObject, config: ControllerConfig) -> str:
    """One folder per volume; its name tells people whose it is."""
    folder = f"{name}_{namespace_of(claim)}_{name_of(claim)}"
    if labels_of(node).get(_OS) == "windows":
        return ntpath.join(config.local_path_windows, folder)
    return posixpath.join(config.local_path_linux, folder)


def check_claim(claim: JsonObject) -> None:
    """Refuse what a folder cannot be."""
    if claim["spec"].get("selector"):
        raise ProvisioningError("claim.Spec.Selector is not supported")
    if claim["spec"].get("volumeMode") == "Block":
        raise ProvisioningError("block volumes are not supported")
    if SELECTED_NODE not in annotations_of(claim):
        raise ProvisioningError("configuration error, no node was specified")


class LocalPathProvisioner(Controller):
    name = "local-path-provisioner"
    event_source = LOCAL_PATH

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._volumes = self.informer(PERSISTENTVOLUMES)
        self._claims = self.informer(PERSISTENTVOLUMECLAIMS)
        self._claims.on_change(lambda key, old, new: self.queue.add(f"{CLAIMS}/{key}"))
        self._volumes.on_change(lambda key, old, new: self.queue.add(f"{VOLUMES}/{key}"))
        self._classes = self.informer(STORAGECLASSES)
        self._nodes = self.informer(NODES)
        self._nodes.on_change(self._node_changed)

    def flow_of(self, key: str) -> str:
        return tenant_of(key, self._volumes)

    def _node_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is None:
            for volume in self._volumes.list():
                if labels_of(volume).get(LOCAL_PATH_NODE) == key:
                    self.queue.add(f"{VOLUMES}/{name_of(volume)}")

    async def reconcile(self, key: str) -> None:
        kind, _, rest = key.partition("/")
        if kind == CLAIMS:
            claim = self._claims.get(rest)
            if claim is not None and self._is_asked(claim):
                await self._provision(claim)
            return
        volume = self._volumes.get(rest)
        if volume is not None and annotations_of(volume).get(PROVISIONED_BY) == LOCAL_PATH:
            await self._let_go(volume)

    def _is_asked(self, claim: JsonObject) -> bool:
        return (
            annotations_of(claim).get(PROVISIONER) == LOCAL_PATH
            and not claim["spec"].get("volumeName")
            and not is_deleting(claim)
            and self._volumes.get(f"pvc-{uid_of(claim)}") is None
        )

    async def _provision(self, claim: JsonObject) -> None:
        storage_class = self._classes.get(class_of(claim))
        if storage_class is None or storage_class.get("provisioner") != LOCAL_PATH:
            return
        said = f'External provisioner is provisioning volume for claim "{key_of(claim)}"'
        self.event(claim, "Normal", "Provisioning", said)
        try:
            check_claim(claim)
        except ProvisioningError as error:
            said = f'failed to provision volume with StorageClass "{class_of(claim)}": {error}'
            self.event(claim, "Warning", "ProvisioningFailed", said)
            return
        node = await self._node(annotations_of(claim)[SELECTED_NODE])
        if node is None:
            await self._reschedule(claim)
            return
        volume = new_volume(claim, storage_class, node, self.context.config)
        try:
            await self.client.create(PERSISTENTVOLUMES, volume)
        except AlreadyExistsError:
            return
        said = f"Successfully provisioned volume {name_of(volume)}"
        self.event(claim, "Normal", "ProvisioningSucceeded", said)

    async def _node(self, name: str) -> JsonObject | None:
        known = self._nodes.get(name)
        if known is not None:
            return known
        try:
            return await self.client.get(NODES, name)
        except NotFoundError:
            return None

    async def _reschedule(self, claim: JsonObject) -> None:
        """The node is gone: without the annotation the scheduler chooses again."""
        notes = {key: text for key, text in annotations_of(claim).items() if key != SELECTED_NODE}
        fresh = {**claim, "metadata": {**claim["metadata"], "annotations": notes}}
        await self.client.update(PERSISTENTVOLUMECLAIMS, fresh)

    async def _let_go(self, volume: JsonObject) -> None:
        policy = volume["spec"].get("persistentVolumeReclaimPolicy")
        phase = (volume.get("status") or {}).get("phase")
        if not is_deleting(volume):
            if phase == "Released" and policy == "Delete":
                await self.remove(PERSISTENTVOLUMES, volume)
            return
        held = EXTERNAL_FINALIZER in (metadata(volume).get("finalizers") or ())
        if held and (policy != "Delete" or await self._is_lost(volume)):
            kept = [each for each in volume["metadata"]["finalizers"] if each != EXTERNAL_FINALIZER]
            fresh = {**volume, "metadata": {**volume["metadata"], "finalizers": kept}}
            await self.client.update(PERSISTENTVOLUMES, fresh)

    async def _is_lost(self, volume: JsonObject) -> bool:
        return await self._node(labels_of(volume).get(LOCAL_PATH_NODE, "")) is None
