"""A pod's priority is the number of its class."""

from typing import Final

from winkube.api.errors import ForbiddenError
from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.served import Resources
from winkube.base.types import JsonObject

_PREEMPT: Final = "PreemptLowerPriority"


class Priority:
    def __init__(self, resources: Resources) -> None:
        self._classes = resources.find("scheduling.k8s.io", "v1", "priorityclasses")

    async def admit(self, request: Admission) -> None:
        if request.operation != "CREATE" or not request.is_for("pods") or request.obj is None:
            return
        spec = request.obj["spec"]
        found = self._class(request, spec.get("priorityClassName") or "")
        value = int(found.get("value", 0))
        policy = found.get("preemptionPolicy") or _PREEMPT
        if spec.get("priority") not in (None, value):
            raise _refused(
                request,
                "the integer value of priority "
                f"({spec['priority']}) must not be provided in pod spec; priority admission "
                f"controller computed {value} from the given PriorityClass name",
            )
        if found:
            spec["priorityClassName"] = found["metadata"]["name"]
        spec["priority"] = value
        spec.setdefault("preemptionPolicy", policy)

    def _class(self, request: Admission, name: str) -> JsonObject:
        if self._classes is None:
            return {}
        if name:
            item = self._classes.cache.get(self._classes.key("", name))
            if item is None:
                raise _refused(request, f"no PriorityClass with name {name} was found")
            return item.load()
        # Few classes exist; the text tells most of them apart without parsing.
        defaults = [
            obj
            for item in self._classes.cache.items()
            if b'"globalDefault":true' in item.data and (obj := item.load()).get("globalDefault")
        ]
        return min(defaults, key=lambda obj: obj.get("value", 0), default={})


def _refused(request: Admission, cause: str) -> ForbiddenError:
    return ForbiddenError(
        f'pods "{request.name}" is forbidden: {cause}',
        details={"name": request.name, "kind": "pods"},
    )
