"""A pod's priority is the number of its class; and there is one default class at most."""

from collections.abc import Hashable, Iterable
from typing import ClassVar, Final

from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.auth.user import User
from winkube.apiserver.item import Item
from winkube.apiserver.served import Resources
from winkube.base.types import JsonObject

_GROUP: Final = "scheduling.k8s.io"
_NO_CLASS: Final[JsonObject] = {"value": 0, "preemptionPolicy": "PreemptLowerPriority"}


class Priority:
    about: ClassVar = frozenset({"pods", f"priorityclasses.{_GROUP}"})

    def __init__(self, resources: Resources) -> None:
        self._classes = resources.find(_GROUP, "v1", "priorityclasses")
        # As of a revision of the classes.
        self._known: tuple[int, JsonObject | None] = (-1, None)

    def sees(self, namespace: str, pod: JsonObject, user: User) -> Hashable | None:
        return None if self._classes is None else self._classes.cache.changed

    async def admit(self, request: Admission) -> None:
        if not request.is_for("pods") or request.obj is None:
            return
        spec = request.obj["spec"]
        if request.operation == "UPDATE":
            _keep(spec, (request.old or {}).get("spec") or {})
        elif request.operation == "CREATE":
            self._resolve(request, spec)

    async def validate(self, request: Admission) -> None:
        if not request.is_for("priorityclasses", _GROUP) or not (request.obj or {}).get(
            "globalDefault"
        ):
            return
        default = self._default()
        if default is None:
            return
        name = default["metadata"]["name"]
        if request.operation == "CREATE" or name != request.name:
            raise request.forbidden(
                f"PriorityClass {name} is already marked as default. Only one default can exist"
            )

    def _resolve(self, request: Admission, spec: JsonObject) -> None:
        found = self._class(request, spec)
        value, policy = int(found.get("value") or 0), found.get("preemptionPolicy")
        if spec.get("priority") not in (None, value):
            raise request.forbidden(
                f"the integer value of priority ({spec['priority']}) must not be provided in pod "
                f"spec; priority admission controller computed {value} from the given "
                "PriorityClass name"
            )
        spec["priority"] = value
        if policy is None:
            return
        if spec.get("preemptionPolicy") not in (None, policy):
            raise request.forbidden(
                f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be "
                f"provided in pod spec; priority admission controller computed {policy} from the "
                "given PriorityClass name"
            )
        spec["preemptionPolicy"] = policy

    def _class(self, request: Admission, spec: JsonObject) -> JsonObject:
        name = spec.get("priorityClassName") or ""
        if not name:
            default = self._default()
            if default is None:
                return _NO_CLASS
            spec["priorityClassName"] = default["metadata"]["name"]
            return default
        item = None
        if self._classes is not None:
            item = self._classes.cache.get(self._classes.key("", name))
        if item is None:
            raise request.forbidden(f"no PriorityClass with name {name} was found")
        return item.load()

    def _default(self) -> JsonObject | None:
        if self._classes is None:
            return None
        cache = self._classes.cache
        if self._known[0] != cache.changed:
            self._known = cache.changed, _default_of(cache.items())
        return self._known[1]


def _default_of(items: Iterable[Item]) -> JsonObject | None:
    defaults = [obj for item in items if (obj := item.load()).get("globalDefault")]
    return min(defaults, key=lambda obj: obj.get("value", 0), default=None)


def _keep(spec: JsonObject, old: JsonObject) -> None:
    """What this step has set before and an update leaves out."""
    for field in ("priority", "preemptionPolicy"):
        if spec.get(field) is None and old.get(field) is not None:
            spec[field] = old[field]
