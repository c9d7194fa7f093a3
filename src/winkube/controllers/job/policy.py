"""What a job's policies say: about a failed pod, and about enough success."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from winkube.api.meta import conditions_of, key_of
from winkube.base.types import JsonObject
from winkube.controllers.job.indexes import IndexSet


@dataclass(frozen=True, slots=True)
class Verdict:
    """The action of the rule that matches a failed pod; ``message`` when the job fails by it."""

    action: str = ""
    message: str = ""

    @property
    def counts(self) -> bool:
        return self.action != "Ignore"


NO_RULE: Final = Verdict()
_ACTIONS: Final = frozenset({"Ignore", "FailIndex", "Count", "FailJob"})


def judge(policy: JsonObject | None, pod: JsonObject) -> Verdict:
    """The first rule that matches decides; an action we do not know decides nothing."""
    for index, rule in enumerate((policy or {}).get("rules") or ()):
        action = rule.get("action")
        reason = _match(rule, pod) if action in _ACTIONS else None
        if reason is not None:
            failed = action == "FailJob"
            return Verdict(action, f"{reason} matching FailJob rule at index {index}" * failed)
    return NO_RULE


def _match(rule: JsonObject, pod: JsonObject) -> str | None:
    exit_codes = rule.get("onExitCodes")
    if exit_codes is not None:
        return _match_exit_codes(exit_codes, pod)
    wanted = {
        (pattern.get("type"), pattern.get("status") or "True")
        for pattern in rule.get("onPodConditions") or ()
    }
    for condition in conditions_of(pod):
        if (condition.get("type"), condition.get("status")) in wanted:
            return f"Pod {key_of(pod)} has condition {condition['type']}"
    return None


def _match_exit_codes(requirement: JsonObject, pod: JsonObject) -> str | None:
    values = requirement.get("values") or ()
    listed = requirement.get("operator") == "In"
    for name, code in _exit_codes(pod):
        if requirement.get("containerName") not in (None, name) or code == 0:
            continue
        if (code in values) == listed:
            return f"Container {name} for pod {key_of(pod)} failed with exit code {code}"
    return None


def _exit_codes(pod: JsonObject) -> Iterable[tuple[str, int]]:
    status = pod.get("status") or {}
    for field in ("containerStatuses", "initContainerStatuses"):
        for container in status.get(field) or ():
            ended = (container.get("state") or {}).get("terminated")
            if ended is not None:
                yield container.get("name", ""), int(ended.get("exitCode") or 0)


def match_success(policy: JsonObject | None, completions: int, done: IndexSet) -> str | None:
    """The message about the first rule that is met."""
    for index, rule in enumerate((policy or {}).get("rules") or ()):
        count = rule.get("succeededCount")
        if rule.get("succeededIndexes") is not None:
            wanted = IndexSet.parse(rule["succeededIndexes"], completions)
            have = wanted.common(done)
            met = bool(wanted) and (have == len(wanted) or (count is not None and have >= count))
        else:
            met = count is not None and len(done) >= count
        if met:
            return f"Matched rules at index {index}"
    return None
