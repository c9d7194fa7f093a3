"""Writes of certificate signing requests: what each part may change, and the times of conditions.

As upstream's strategies do it (k8s.io/kubernetes: pkg/registry/certificates/certificates).
"""

from winkube.api.certificate_request import APPROVED, DENIED, GROUP
from winkube.api.kinds import Kind
from winkube.base.clock import Clock, to_rfc3339
from winkube.base.types import JsonObject


def complete_signing_request(
    kind: Kind, new: JsonObject, old: JsonObject, *, part: str, clock: Clock
) -> None:
    if (kind.group, kind.plural) != (GROUP, "certificatesigningrequests"):
        return
    new["spec"] = old.get("spec") or {}
    if part == "status":
        for type_ in (APPROVED, DENIED):
            _keep_conditions(new, old, type_)
    if part:
        _stamp_conditions(new, old, to_rfc3339(clock.now()))


def _keep_conditions(new: JsonObject, old: JsonObject, type_: str) -> None:
    """What was approved stays as it was said; adding or removing is for validation to refuse."""
    fresh, kept = _conditions(new), _conditions(old)
    at = [index for index, each in enumerate(fresh) if each.get("type") == type_]
    before = [each for each in kept if each.get("type") == type_]
    if len(at) == len(before):
        for index, condition in zip(at, before, strict=True):
            fresh[index] = condition


def _stamp_conditions(new: JsonObject, old: JsonObject, now: str) -> None:
    for condition in _conditions(new):
        if not condition.get("lastUpdateTime"):
            condition["lastUpdateTime"] = now
        if not condition.get("lastTransitionTime"):
            same = (
                each["lastTransitionTime"]
                for each in _conditions(old)
                if each.get("type") == condition.get("type")
                and each.get("status") == condition.get("status")
                and each.get("lastTransitionTime")
            )
            condition["lastTransitionTime"] = next(same, now)


def _conditions(obj: JsonObject) -> list[JsonObject]:
    return (obj.get("status") or {}).get("conditions") or []
