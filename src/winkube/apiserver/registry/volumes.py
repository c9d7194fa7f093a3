"""What becomes of a volume before it is validated: it tells when its phase changed."""

from winkube.api.kinds import Kind
from winkube.base.clock import Clock, to_rfc3339
from winkube.base.types import JsonObject


def time_phase(kind: Kind, new: JsonObject, old: JsonObject, *, part: str, clock: Clock) -> None:
    """Unless its reporter says when itself."""
    if (kind.group, kind.plural, part) != ("", "persistentvolumes", "status"):
        return
    status = new["status"] = {**(new.get("status") or {})}
    before = old.get("status") or {}
    said, known = status.get("lastPhaseTransitionTime"), before.get("lastPhaseTransitionTime")
    if status.get("phase") == before.get("phase"):
        if not said and known:
            status["lastPhaseTransitionTime"] = known
    elif not said or said == known:
        status["lastPhaseTransitionTime"] = to_rfc3339(clock.now())
