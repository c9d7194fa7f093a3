"""Which pods use which claims."""

from collections.abc import Iterator
from typing import Final

from winkube.api.meta import controller_of, name_of, namespace_of, uid_of
from winkube.base.types import JsonObject
from winkube.client.informer import Informer

CLAIM: Final = "claim"
# What keys of claims and of volumes begin with, where both are in one queue.
CLAIMS: Final = "claims"
VOLUMES: Final = "volumes"


def tenant_of(key: str, volumes: Informer) -> str:
    """The namespace of a claim, or of the claim that has the volume."""
    kind, _, rest = key.partition("/")
    if kind == CLAIMS:
        return rest.partition("/")[0]
    reference = ((volumes.get(rest) or {}).get("spec") or {}).get("claimRef") or {}
    return str(reference.get("namespace") or "")


def claim_keys(pod: JsonObject) -> Iterator[str]:
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            yield f"{namespace_of(pod)}/{volume['persistentVolumeClaim']['claimName']}"
        elif "ephemeral" in volume:
            yield f"{namespace_of(pod)}/{name_of(pod)}-{volume['name']}"


def add_claim_index(pods: Informer) -> None:
    """Find pods by the claims they name."""
    pods.add_index(CLAIM, claim_keys)


def is_using(pod: JsonObject, claim: JsonObject) -> bool:
    """A pod uses its claims from when it has a node; the kubelet starts nothing before."""
    if not (pod.get("spec") or {}).get("nodeName"):
        return False
    for volume in pod["spec"].get("volumes") or ():
        named = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if named == name_of(claim):
            return True
        if "ephemeral" in volume and not _is_shut_down(pod):
            owner = controller_of(claim)
            own = owner is not None and owner.get("uid") == uid_of(pod)
            if own and f"{name_of(pod)}-{volume['name']}" == name_of(claim):
                return True
    return False


def _is_shut_down(pod: JsonObject) -> bool:
    """The kubelet is done with it, or it was deleted by force."""
    metadata = pod["metadata"]
    return (
        bool(metadata.get("deletionTimestamp")) and metadata.get("deletionGracePeriodSeconds") == 0
    )
