"""A kubelet may change its own Node and the pods bound to it, and no other."""

from typing import Final

from winkube.api.errors import ForbiddenError
from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.auth.user import NODE_PREFIX, NODES
from winkube.base.types import JsonObject

_MIRROR: Final = "kubernetes.io/config.mirror"


class NodeRestriction:
    async def admit(self, request: Admission) -> None:
        user = request.user
        if NODES not in user.groups or not user.name.startswith(NODE_PREFIX):
            return
        node = user.name.removeprefix(NODE_PREFIX)
        plural = request.served.kind.plural
        if plural == "nodes" and request.name != node:
            raise _refused(request, f'node "{node}" is not allowed to modify node "{request.name}"')
        if plural == "pods" and not request.served.kind.group:
            _check_pod(request, node)


def _check_pod(request: Admission, node: str) -> None:
    if request.operation == "CREATE":
        pod = request.obj or {}
        if _MIRROR not in (pod["metadata"].get("annotations") or {}):
            raise _refused(
                request,
                "pod does not have "
                f'"{_MIRROR}" annotation, node "{node}" can only create mirror pods',
            )
        _check_bound(request, pod, node)
    elif request.old is not None:
        _check_bound(request, request.old, node)


def _check_bound(request: Admission, pod: JsonObject, node: str) -> None:
    bound = (pod.get("spec") or {}).get("nodeName", "")
    if bound != node:
        raise _refused(
            request, f'node "{node}" can only change pods with spec.nodeName set to itself'
        )


def _refused(request: Admission, cause: str) -> ForbiddenError:
    plural = request.served.kind.plural
    return ForbiddenError(
        f'{plural} "{request.name}" is forbidden: {cause}',
        details={"name": request.name, "kind": plural},
    )
