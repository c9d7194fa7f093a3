"""Nothing is created in a namespace that is absent or going, and three namespaces stay."""

from collections.abc import Hashable
from typing import Final

from winkube.api.errors import Cause, ForbiddenError, NotFoundError
from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.auth.user import User
from winkube.apiserver.served import Resources
from winkube.base.types import JsonObject

IMMORTAL: Final = frozenset({"default", "kube-system", "kube-public"})
# Asked in a namespace, not stored in one.
_REVIEWS: Final = frozenset({"localsubjectaccessreviews"})


class NamespaceLifecycle:
    def __init__(self, resources: Resources) -> None:
        self._namespaces = resources.core("namespaces")

    def sees(self, namespace: str, pod: JsonObject, user: User) -> Hashable | None:
        item = self._namespaces.cache.get(self._namespaces.key("", namespace))
        return None if item is None else item.revision

    async def admit(self, request: Admission) -> None:
        kind = request.served.kind
        if request.operation == "DELETE":
            if request.is_for("namespaces") and request.name in IMMORTAL:
                raise ForbiddenError(
                    f'namespaces "{request.name}" is forbidden: this namespace may not be deleted',
                    details={"name": request.name, "kind": "namespaces"},
                )
            return
        if request.operation != "CREATE" or not kind.namespaced or kind.plural in _REVIEWS:
            return
        item = self._namespaces.cache.get(self._namespaces.key("", request.namespace))
        if item is None:
            raise NotFoundError.of("namespaces", request.namespace)
        if b'"deletionTimestamp"' in item.data and item.load()["metadata"].get("deletionTimestamp"):
            raise _terminating(request)


def _terminating(request: Admission) -> ForbiddenError:
    kind, namespace = request.served.kind, request.namespace
    sentence = (
        f"unable to create new content in namespace {namespace} because it is being terminated"
    )
    cause = Cause(
        "NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace"
    )
    details: dict[str, object] = {"name": request.name}
    if kind.group:
        details["group"] = kind.group
    details |= {"kind": kind.plural, "causes": [cause.to_json()]}
    return ForbiddenError(
        f'{kind.group_resource} "{request.name}" is forbidden: {sentence}', details=details
    )
