"""A kubelet writes its own Node and Lease and about the pods bound to it, and nothing else.

The Node authoriser has said that a kubelet may write such objects at all; this step sees whose they
are and which fields change. Fields are compared one by one where a node could free itself from what
others decided about it: taints, labels of Kubernetes' domains, owners (CVE-2025-5187).
"""

from collections.abc import Hashable
from typing import Final

from winkube.api.certificate_request import (
    GROUP,
    KUBELET_CLIENT_SIGNER,
    KUBELET_SERVING_SIGNER,
    RequestError,
    parse_request,
)
from winkube.api.errors import ForbiddenError, NotFoundError
from winkube.api.node_labels import is_kubelet_label
from winkube.apiserver.admission.chain import NOTHING_SEEN, Admission
from winkube.apiserver.auth.node import LEASE_NAMESPACE
from winkube.apiserver.auth.references import CLAIM, references_of
from winkube.apiserver.auth.user import User, node_of
from winkube.apiserver.served import Resources
from winkube.base.types import JsonObject

_MIRROR: Final = "kubernetes.io/config.mirror"
# Whose devices a pod may use is decided elsewhere (the first title is spelt as upstream spells it).
_CLAIMED: Final = {
    "resourceClaimStatuses": "resource claim statues",
    "extendedResourceClaimStatus": "extended resource claim status",
}
# What a projected volume gets from the API beside secrets and config maps.
_SOURCES: Final = {
    "serviceAccountToken": "service account tokens",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}


# What a kubelet that enlarges a volume reports about its claim.
_REPORTED: Final = frozenset(
    {"capacity", "conditions", "allocatedResources", "allocatedResourceStatuses"}
)


class NodeRestriction:
    def __init__(self, resources: Resources) -> None:
        self._nodes = resources.core("nodes")

    def sees(self, namespace: str, pod: JsonObject, user: User) -> Hashable | None:
        return None if node_of(user) else NOTHING_SEEN

    async def admit(self, request: Admission) -> None:
        node = node_of(request.user)
        if not node:
            return
        kind = request.served.kind
        resource = kind.group_resource
        if resource == "nodes":
            _check_node(request, node)
        elif resource == "pods":
            self._check_pod(request, node)
        elif resource == CLAIM:
            _check_claim(request, node)
        elif resource == "leases.coordination.k8s.io":
            _check_own(request, node, request.namespace == LEASE_NAMESPACE)
        elif resource == "csinodes.storage.k8s.io":
            _check_own(request, node, allowed=True)
        elif resource == f"certificatesigningrequests.{GROUP}" and request.operation == "CREATE":
            _check_signing_request(request, node)

    def _check_pod(self, request: Admission, node: str) -> None:
        if request.operation == "CREATE":
            _check_mirror(request, request.obj or {}, node)
            self._check_owner(request, request.obj or {}, node)
        elif request.old is not None:
            only = "update pod status for" if request.operation == "UPDATE" else "delete"
            _check_bound(request.name, request.old, f'node "{node}" can only {only}', node)
            _check_status(request, request.old, node)

    def _check_owner(self, request: Admission, pod: JsonObject, node: str) -> None:
        """A mirror pod goes with its node: the node as it is now, and nothing else."""
        owners = pod["metadata"].get("ownerReferences") or [{}]
        owner = owners[0]
        item = self._nodes.cache.get(self._nodes.key("", node))
        named = owner.get("apiVersion"), owner.get("kind"), owner.get("name")
        cause, only = "", f'node "{node}" can only create pods with'
        if len(owners) > 1:
            cause = f"{only} a single owner reference set to itself"
        elif named != ("v1", "Node", node):
            cause = f"{only} an owner reference set to itself"
        elif not owner.get("controller"):
            cause = f"{only} a controller owner reference set to itself"
        elif owner.get("blockOwnerDeletion"):
            cause = f'node "{node}" must not set blockOwnerDeletion on an owner reference'
        elif item is None:
            raise NotFoundError.of("nodes", node)
        elif (uid := item.load()["metadata"]["uid"]) != owner.get("uid"):
            cause = f"node {node} UID mismatch: expected {owner.get('uid')} got {uid}"
        if cause:
            raise _refused(request, cause)


def _check_signing_request(request: Admission, node: str) -> None:
    """A kubelet asks for its own identity; the signer looks at all else."""
    spec = (request.obj or {}).get("spec") or {}
    if spec.get("signerName") not in (KUBELET_CLIENT_SIGNER, KUBELET_SERVING_SIGNER):
        return
    try:
        asked = parse_request(spec.get("request") or "").common_name
    except RequestError as error:
        raise _refused(request, f"unable to parse csr: {error}") from error
    if asked != f"system:node:{node}":
        raise _refused(request, f"can only create a node CSR with CN=system:node:{node}")


def _check_claim(request: Admission, node: str) -> None:
    if request.subresource != "status" or request.operation != "UPDATE":
        raise _refused(request, "may only update PVC status")
    kept = [_decided(claim or {}) for claim in (request.old, request.obj)]
    if kept[0] != kept[1]:
        only = "is not allowed to update fields other than status.quantity and status.conditions"
        changed = [name for name in kept[0] if kept[0][name] != kept[1].get(name)]
        added = [name for name in kept[1] if name not in kept[0]]
        raise _refused(request, f'node "{node}" {only}: {", ".join([*changed, *added])}')


def _decided(claim: JsonObject) -> JsonObject:
    """What others decided about a claim, by the names of its fields."""
    metadata = {
        f"metadata.{name}": value
        for name, value in (claim.get("metadata") or {}).items()
        if name not in ("resourceVersion", "managedFields")
    }
    status = {
        f"status.{name}": value
        for name, value in (claim.get("status") or {}).items()
        if name not in _REPORTED
    }
    return {"spec": claim.get("spec"), **metadata, **status}


def _check_own(request: Admission, node: str, allowed: bool) -> None:
    if not allowed or request.name != node:
        raise _refused(
            request, f'node "{node}" can only change an object with the same name as the node'
        )


def _check_node(request: Admission, node: str) -> None:
    if request.name != node:
        raise _refused(request, f'node "{node}" is not allowed to modify node "{request.name}"')
    new, old = request.obj or {}, request.old or {}
    if request.operation not in ("CREATE", "UPDATE"):
        return
    fresh, known = new.get("metadata") or {}, old.get("metadata") or {}
    if (fresh.get("ownerReferences") or []) != (known.get("ownerReferences") or []):
        raise _refused(request, f'node "{node}" is not allowed to modify ownerReferences')
    labels, before = fresh.get("labels") or {}, known.get("labels") or {}
    changed = {key for key in {*labels, *before} if labels.get(key) != before.get(key)}
    denied = sorted(key for key in changed if not is_kubelet_label(key))
    if denied:
        raise _refused(
            request, f'node "{node}" is not allowed to modify labels: {", ".join(denied)}'
        )
    if request.operation == "UPDATE" and _taints(new) != _taints(old):
        raise _refused(request, f'node "{node}" is not allowed to modify taints')


def _taints(node: JsonObject) -> list[JsonObject]:
    return (node.get("spec") or {}).get("taints") or []


def _check_mirror(request: Admission, pod: JsonObject, node: str) -> None:
    """A mirror pod shows what runs already: with a reference it would open what it names."""
    metadata = pod["metadata"]
    if _MIRROR not in (metadata.get("annotations") or {}):
        raise _refused(
            request,
            f'pod does not have "{_MIRROR}" annotation, node "{node}" can only create mirror pods',
        )
    _check_bound(request.name, pod, f'node "{node}" can only create', node)
    named = sorted({plural for plural, _ in references_of(pod)})
    if (pod.get("spec") or {}).get("resourceClaims"):
        named.append("resourceclaims")
    for source, title in _SOURCES.items():
        if any(source in entry for entry in _sources(pod)):
            named.append(title)
    if named:
        raise _refused(
            request, f'node "{node}" can not create pods that reference {" or ".join(named)}'
        )


def _sources(pod: JsonObject) -> list[JsonObject]:
    return [
        source
        for volume in (pod.get("spec") or {}).get("volumes") or ()
        for source in (volume.get("projected") or {}).get("sources") or ()
    ]


def _check_status(request: Admission, old: JsonObject, node: str) -> None:
    """Labels decide which services and policies a pod is part of: not the node's business."""
    if request.obj is None or request.operation != "UPDATE":
        return
    labels = (request.obj.get("metadata") or {}).get("labels") or {}
    if labels != (old["metadata"].get("labels") or {}):
        raise _refused(request, f'node "{node}" cannot update labels through pod status')
    before, after = (obj.get("status") or {} for obj in (old, request.obj))
    for field, title in _CLAIMED.items():
        if (before.get(field) or None) != (after.get(field) or None):
            raise _refused(request, f'node "{node}" cannot update {title}')


def check_eviction(user: User, name: str, pod: JsonObject | None) -> None:
    """An eviction is not kept, and no step of admission sees it: who carries it out asks here."""
    node = node_of(user)
    if pod is None:
        raise NotFoundError.of("pod", name)  # a word of upstream's caches, not of its server
    _check_bound(name, pod, f"node {node} can only evict", node)


def _check_bound(name: str, pod: JsonObject, only: str, node: str) -> None:
    if (pod.get("spec") or {}).get("nodeName", "") != node:
        raise _forbidden("pods", name, f"{only} pods with spec.nodeName set to itself")


def _refused(request: Admission, cause: str) -> ForbiddenError:
    return _forbidden(request.served.kind.plural, request.name, cause)


def _forbidden(plural: str, name: str, cause: str) -> ForbiddenError:
    return ForbiddenError(
        f'{plural} "{name}" is forbidden: {cause}', details={"name": name, "kind": plural}
    )
