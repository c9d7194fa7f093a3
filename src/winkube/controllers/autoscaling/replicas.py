"""How many replicas one metric asks for.

The rules are upstream's (pkg/controller/podautoscaler/replica_calculator.go): the ratio of usage to
target times the pods it was measured on, unless it is close to one. Pods without a figure and pods
that are not ready are then assumed to be such that they damp the change, and never turn it round.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from winkube.api.meta import get_condition, is_deleting, name_of
from winkube.api.quantity import to_milli
from winkube.base.clock import parse_rfc3339
from winkube.base.types import JsonObject
from winkube.controllers.autoscaling.errors import MetricError
from winkube.controllers.autoscaling.usage import Usage
from winkube.controllers.pods import is_ready, phase_of

CPU: Final = "cpu"
MAX_REPLICAS: Final = 2**31 - 1

_NO_PODS: Final = "no pods returned by selector while calculating replica count"
_NO_METRICS: Final = "did not receive metrics for targeted pods (pods might be unready)"


@dataclass(frozen=True, slots=True)
class Tolerances:
    """How far from the target usage may be without a change."""

    down: float = 0.1
    up: float = 0.1

    def covers(self, ratio: float) -> bool:
        return 1.0 - self.down <= ratio <= 1.0 + self.up


@dataclass(frozen=True, slots=True)
class Timing:
    """When a young pod's CPU figure counts; seconds."""

    now: float
    cpu_initialization: float = 300.0
    initial_readiness_delay: float = 30.0


@dataclass(frozen=True, slots=True)
class Situation:
    """What every calculation is about: the size now, the pods, and how exact to be."""

    replicas: int
    pods: Sequence[JsonObject]
    timing: Timing
    tolerances: Tolerances = field(default_factory=Tolerances)


@dataclass(frozen=True, slots=True)
class Groups:
    ready: int
    unready: frozenset[str]
    missing: frozenset[str]
    ignored: frozenset[str]


@dataclass(frozen=True, slots=True)
class Utilization:
    replicas: int
    percent: int
    average: int  # thousandths


def group_pods(
    pods: Iterable[JsonObject], usages: Mapping[str, Usage], resource: str, timing: Timing
) -> Groups:
    ready, unready, missing, ignored = 0, set(), set(), set()
    for pod in pods:
        name, phase = name_of(pod), phase_of(pod)
        if is_deleting(pod) or phase == "Failed":
            ignored.add(name)
        elif phase == "Pending":
            unready.add(name)
        elif name not in usages:
            missing.add(name)
        elif resource == CPU and _is_unready(pod, usages[name], timing):
            unready.add(name)
        else:
            ready += 1
    return Groups(ready, frozenset(unready), frozenset(missing), frozenset(ignored))


def _is_unready(pod: JsonObject, usage: Usage, timing: Timing) -> bool:
    condition = get_condition(pod, "Ready")
    started = (pod.get("status") or {}).get("startTime")
    if condition is None or not started:
        return True
    start = parse_rfc3339(started)
    changed = parse_rfc3339(condition.get("lastTransitionTime") or "1970-01-01T00:00:00Z")
    false = condition.get("status") == "False"
    if start + timing.cpu_initialization > timing.now:
        # The figure has to cover one whole window after the pod became ready.
        return false or usage.at < changed + usage.window
    return false and start + timing.initial_readiness_delay > changed


def pod_requests(pods: Iterable[JsonObject], container: str, resource: str) -> dict[str, int]:
    return {name_of(pod): _request(pod, container, resource) for pod in pods}


def _request(pod: JsonObject, container: str, resource: str) -> int:
    spec = pod.get("spec") or {}
    whole = (spec.get("resources") or {}).get("requests")
    if whole and not container:
        if resource not in whole:
            raise MetricError(f"missing pod-level request for {resource} in Pod {name_of(pod)}")
        return to_milli(whole[resource])
    lasting = [
        each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"
    ]
    total = 0
    for each in [*(spec.get("containers") or ()), *lasting]:
        if container and each["name"] != container:
            continue
        request = ((each.get("resources") or {}).get("requests") or {}).get(resource)
        if request is None:
            raise MetricError(
                f"missing request for {resource} in container {each['name']} of Pod {name_of(pod)}"
            )
        total += to_milli(request)
    return total


def utilization(
    usages: Mapping[str, Usage], requests: Mapping[str, int], target: int
) -> tuple[float, int, int]:
    """The ratio to the target, the percentage of what was requested, the average usage."""
    known = [name for name in usages if name in requests]
    used, requested = sum(usages[n].value for n in known), sum(requests[n] for n in known)
    if requested == 0:
        raise MetricError("no metrics returned matched known pods")
    percent = used * 100 // requested
    return percent / target, percent, used // len(known)


def average(usages: Mapping[str, Usage], target: int) -> tuple[float, int]:
    usage = sum(each.value for each in usages.values()) // len(usages)
    return usage / target, usage


def utilization_replicas(
    situation: Situation,
    usages: Mapping[str, Usage],
    resource: str,
    target: int,
    container: str = "",
) -> Utilization:
    """For a target in percent of what the pods request."""
    groups, counted = _counted(situation, usages, resource)
    requests = pod_requests(situation.pods, container, resource)
    ratio, percent, raw = utilization(counted, requests, target)

    def missing(name: str) -> int:
        return requests[name] * max(100, target) // 100

    def again(guessed: Mapping[str, Usage]) -> float:
        return utilization(guessed, requests, target)[0]

    replicas = _replicas(situation, groups, _Estimate(counted, ratio, missing, again))
    return Utilization(replicas, percent, raw)


def average_replicas(
    situation: Situation, usages: Mapping[str, Usage], resource: str, target: int
) -> tuple[int, int]:
    """For a target per pod in thousandths; also says the average usage."""
    groups, counted = _counted(situation, usages, resource)
    ratio, usage = average(counted, target)
    estimate = _Estimate(
        counted, ratio, lambda _: target, lambda guessed: average(guessed, target)[0]
    )
    return _replicas(situation, groups, estimate), usage


def _counted(
    situation: Situation, usages: Mapping[str, Usage], resource: str
) -> tuple[Groups, dict[str, Usage]]:
    if not situation.pods:
        raise MetricError(_NO_PODS)
    groups = group_pods(situation.pods, usages, resource, situation.timing)
    left_out = groups.ignored | groups.unready
    counted = {name: usage for name, usage in usages.items() if name not in left_out}
    if not counted:
        raise MetricError(_NO_METRICS)
    return groups, counted


@dataclass(frozen=True, slots=True)
class _Estimate:
    usages: Mapping[str, Usage]
    ratio: float
    missing: Callable[[str], int]  # what a pod without a figure is taken to use on a scale-down
    again: Callable[[Mapping[str, Usage]], float]


def _replicas(situation: Situation, groups: Groups, estimate: _Estimate) -> int:
    ratio, current, within = estimate.ratio, situation.replicas, situation.tolerances.covers
    with_unready = bool(groups.unready) and ratio > 1.0
    if not with_unready and not groups.missing:
        return current if within(ratio) else _ceil(ratio * groups.ready)
    guessed = dict(estimate.usages)
    if ratio < 1.0:
        guessed |= {name: Usage(estimate.missing(name)) for name in groups.missing}
    elif ratio > 1.0:
        guessed |= {name: Usage(0) for name in groups.missing}
    if with_unready:
        guessed |= {name: Usage(0) for name in groups.unready}
    after = estimate.again(guessed)
    if within(after) or (ratio < 1.0 < after) or (after < 1.0 < ratio):
        return current
    proposed = _ceil(after * len(guessed))
    turned = (after < 1.0 and proposed > current) or (after > 1.0 and proposed < current)
    return current if turned else proposed


def ratio_replicas(situation: Situation, usage: int, target: int) -> int:
    """For one figure about the whole (an object's, an external one) and its target value."""
    ratio = usage / target
    if situation.replicas == 0:
        return _ceil(ratio)
    if situation.tolerances.covers(ratio):
        return situation.replicas
    if not situation.pods:
        raise MetricError(f"unable to calculate ready pods: {_NO_PODS}")
    ready = sum(phase_of(pod) == "Running" and is_ready(pod) for pod in situation.pods)
    return _ceil(ratio * ready)


def per_pod_replicas(
    replicas: int, tolerances: Tolerances, usage: int, target: int
) -> tuple[int, int]:
    """For one figure about the whole and its target per pod; also says the usage per pod."""
    ratio = usage / (target * replicas) if replicas else math.inf
    proposed = replicas if tolerances.covers(ratio) else _ceil(usage / target)
    return proposed, math.ceil(usage / replicas) if replicas else usage


def _ceil(number: float) -> int:
    return min(math.ceil(number), MAX_REPLICAS)
