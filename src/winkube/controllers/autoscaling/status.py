"""The status of an autoscaler while it is being worked out."""

import copy

from winkube.api.meta import set_condition
from winkube.base.types import JsonObject


class Status:
    def __init__(self, obj: JsonObject, now: str) -> None:
        self.obj = obj
        self._now = now
        self._before = copy.deepcopy(obj.get("status") or {})
        obj.setdefault("status", {})

    def condition(self, kind: str, status: str, reason: str, message: str) -> None:
        entry = {"type": kind, "status": status, "reason": reason, "message": message}
        set_condition(self.obj, entry, self._now)

    def sizes(
        self,
        current: int,
        desired: int | None,
        metrics: list[JsonObject],
        *,
        scaled: bool = False,
    ) -> None:
        """``desired`` None leaves the one that was wanted before."""
        old = self.obj["status"]
        status: JsonObject = {
            "currentReplicas": current,
            "desiredReplicas": old.get("desiredReplicas", 0) if desired is None else desired,
            "currentMetrics": metrics or None,
            "conditions": old.get("conditions"),
            "lastScaleTime": self._now if scaled else old.get("lastScaleTime"),
        }
        self.obj["status"] = {key: value for key, value in status.items() if value is not None}

    @property
    def changed(self) -> bool:
        return bool(self.obj["status"] != self._before)

    def result(self) -> JsonObject:
        return self.obj
