"""A pod of a runtime class carries its overhead and goes where that class runs."""

from collections.abc import Hashable
from typing import Any, ClassVar, Final

from winkube.api.errors import UnexplainedError
from winkube.api.go.text import quoted
from winkube.api.quota.amounts import amounts, equal
from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.auth.user import User
from winkube.apiserver.served import Resources
from winkube.base.types import JsonObject

_MISMATCH: Final = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_WITHOUT: Final = (
    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
)


class RuntimeClass:
    about: ClassVar = frozenset({"pods"})

    def __init__(self, resources: Resources) -> None:
        self._classes = resources.find("node.k8s.io", "v1", "runtimeclasses")

    def sees(self, namespace: str, pod: JsonObject, user: User) -> Hashable | None:
        return None if self._classes is None else self._classes.cache.changed

    async def admit(self, request: Admission) -> None:
        if request.operation != "CREATE" or request.subresource or request.obj is None:
            return
        spec = request.obj["spec"]
        if spec.get("runtimeClassName") is None:
            return
        runtime_class = self._class(request, spec["runtimeClassName"])
        _set_overhead(request, spec, runtime_class.get("overhead"))
        _set_scheduling(request, spec, runtime_class.get("scheduling"))

    async def validate(self, request: Admission) -> None:
        if request.operation != "CREATE" or request.subresource or request.obj is None:
            return
        spec = request.obj["spec"]
        name = spec.get("runtimeClassName")
        overhead = self._class(request, name).get("overhead") if name is not None else None
        if overhead is None:
            if spec.get("overhead") is not None:
                raise request.forbidden(_WITHOUT)
        elif not _is_same(overhead, spec):
            raise request.forbidden(_MISMATCH)

    def _class(self, request: Admission, name: str) -> JsonObject:
        if not name:
            raise UnexplainedError("resource name may not be empty")
        item = None
        if self._classes is not None:
            item = self._classes.cache.get(self._classes.key("", name))
        if item is None:
            raise request.forbidden(f"pod rejected: RuntimeClass {quoted(name)} not found")
        return item.load()


def _is_same(overhead: JsonObject, spec: JsonObject) -> bool:
    return equal(amounts(overhead.get("podFixed")), amounts(spec.get("overhead")))


def _set_overhead(request: Admission, spec: JsonObject, overhead: JsonObject | None) -> None:
    if overhead is None:
        return
    if spec.get("overhead") and not _is_same(overhead, spec):
        raise request.forbidden(_MISMATCH)
    if overhead.get("podFixed"):
        spec["overhead"] = dict(overhead["podFixed"])


def _set_scheduling(request: Admission, spec: JsonObject, scheduling: JsonObject | None) -> None:
    if scheduling is None:
        return
    own = spec.get("nodeSelector") or {}
    for key, value in sorted((scheduling.get("nodeSelector") or {}).items()):
        if own.get(key, value) != value:
            raise request.forbidden(
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {own[key]}"
            )
    selector = {**own, **(scheduling.get("nodeSelector") or {})}
    if selector:
        spec["nodeSelector"] = selector
    tolerations = merge_tolerations(
        [*(spec.get("tolerations") or ()), *(scheduling.get("tolerations") or ())]
    )
    if tolerations:
        spec["tolerations"] = tolerations


def merge_tolerations(tolerations: list[JsonObject]) -> list[JsonObject]:
    """Without those that another one includes; of equals the first stays."""
    merged: list[JsonObject] = []
    for index, one in enumerate(tolerations):
        if any(_includes(other, one) for other in merged):
            continue
        later = tolerations[index + 1 :]
        if not any(other != one and _includes(other, one) for other in later):
            merged.append(one)
    return merged


def _includes(wide: JsonObject, narrow: JsonObject) -> bool:
    if wide == narrow:
        return True
    operator = wide.get("operator") or "Equal"
    if _text(narrow, "key") != _text(wide, "key") and (_text(wide, "key") or operator != "Exists"):
        return False
    if _text(wide, "effect") not in ("", _text(narrow, "effect")):
        return False
    seconds, other = wide.get("tolerationSeconds"), narrow.get("tolerationSeconds")
    limited = wide.get("effect") == "NoExecute" and seconds is not None
    if limited and (other is None or other > seconds):
        return False
    if operator == "Exists":
        return True
    same: Any = narrow.get("operator") == "Equal" and _text(narrow, "value") == _text(wide, "value")
    return bool(same)


def _text(toleration: JsonObject, field: str) -> str:
    return toleration.get(field) or ""
