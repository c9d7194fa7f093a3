"""Which pods belong together: those a Service or a controller selects are spread by default.

(kubernetes: pkg/scheduler/framework/plugins/helper/spread.go)
"""

from collections.abc import Callable, Iterable
from typing import Final

from winkube.api.selector.labels import LabelSelector, from_label_selector, from_match_labels
from winkube.base.types import JsonObject
from winkube.scheduler.shape import Owner, PodInfo

REMEMBERED: Final = 4096
_KINDS: Final = {
    ("v1", "ReplicationController"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
}

Services = Callable[[str], Iterable[JsonObject]]
Find = Callable[[Owner, str], JsonObject | None]
Key = tuple[str, tuple[tuple[str, str], ...], Owner | None]


class Spreading:
    def __init__(self) -> None:
        self.services: Services = lambda namespace: ()
        self.find: Find = lambda owner, namespace: None
        self._kept: dict[Key, LabelSelector | None] = {}

    def changed(self) -> None:
        """A selector is new, other or gone."""
        self._kept.clear()

    def selector(self, pod: PodInfo) -> LabelSelector | None:
        """What selects the pod and its like; None when nothing does."""
        key = (pod.namespace, tuple(pod.labels.items()), pod.controller)
        if key not in self._kept:
            if len(self._kept) > REMEMBERED:
                self._kept.clear()
            self._kept[key] = self._selector(pod)
        return self._kept[key]

    def _selector(self, pod: PodInfo) -> LabelSelector | None:
        merged: dict[str, str] = {}
        for service in self.services(pod.namespace):
            wanted = (service.get("spec") or {}).get("selector")
            if wanted is not None and wanted.items() <= pod.labels.items():
                merged.update(wanted)
        owner = self._owner(pod)
        given = ((owner or {}).get("spec") or {}).get("selector")
        if owner is not None and pod.controller is not None and pod.controller[0] == "v1":
            merged.update(given or {})
            given = None
        requirements = from_match_labels(merged).requirements
        if given is not None:
            requirements += from_label_selector(given).requirements
        # In one order, so that the same selector is the same key wherever it comes from.
        unique = sorted(set(requirements), key=lambda each: (each.key, each.operator))
        return LabelSelector(tuple(unique)) if unique else None

    def _owner(self, pod: PodInfo) -> JsonObject | None:
        if pod.controller is None or pod.controller[:2] not in _KINDS:
            return None
        return self.find(pod.controller, pod.namespace)
