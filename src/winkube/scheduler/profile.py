"""Profiles: which rules a scheduler name stands for (kubescheduler.config.k8s.io/v1, a subset).

``multiPoint`` names rules for every point they know; a point's own list adds to it, gives other
weights, or takes rules out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from winkube.base.errors import WinkubeError
from winkube.base.types import JsonObject
from winkube.scheduler.plugins.order import DEFAULT_ORDER, MAKERS, PREEMPTION
from winkube.scheduler.plugins.plugin import Plugin
from winkube.scheduler.shape import DEFAULT_SCHEDULER

POINTS: Final = (
    "multiPoint", "preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore",
    "score", "reserve", "permit", "preBind", "bind", "postBind",
)  # fmt: skip
ALL: Final = "*"


class SchedulerConfigError(WinkubeError):
    """The scheduler's configuration makes no sense."""


@dataclass(frozen=True, slots=True)
class Profile:
    name: str
    filters: tuple[Plugin, ...]
    scorers: tuple[tuple[Plugin, int], ...]
    # Whether a pod that fits nowhere may push others out, and how many nodes are tried for that.
    preempts: bool = True
    # Upstream's PostFilter rule for resource claims speaks for every pod, also without claims.
    claims_are_checked: bool = True
    candidates_percent: int = 10
    candidates_least: int = 100

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        scorers = tuple(plugin for plugin, _ in self.scorers if plugin not in self.filters)
        return (*self.filters, *scorers)


@dataclass(frozen=True, slots=True)
class Profiles:
    by_name: Mapping[str, Profile]
    initial_backoff: float | None = None
    max_backoff: float | None = None


def default_profile(name: str = DEFAULT_SCHEDULER) -> Profile:
    return parse_profile({"schedulerName": name})


def load_profiles(path: Path) -> Profiles:
    try:
        document = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SchedulerConfigError(f"{path} cannot be read: {error}") from error
    if not isinstance(document, dict) or document.get("kind") != "KubeSchedulerConfiguration":
        raise SchedulerConfigError(f"{path} is no KubeSchedulerConfiguration")
    return parse_profiles(document)


def parse_profiles(document: JsonObject) -> Profiles:
    listed = document.get("profiles") or [{}]
    if len(listed) == 1:
        listed = [{"schedulerName": DEFAULT_SCHEDULER, **listed[0]}]
    found = [parse_profile(each) for each in listed]
    by_name = {profile.name: profile for profile in found}
    if len(by_name) != len(found):
        raise SchedulerConfigError("two profiles have the same schedulerName")
    first, most = document.get("podInitialBackoffSeconds"), document.get("podMaxBackoffSeconds")
    return Profiles(
        by_name,
        None if first is None else float(first),
        None if most is None else float(most),
    )


def parse_profile(document: JsonObject) -> Profile:
    name = document.get("schedulerName")
    if not name:
        raise SchedulerConfigError("a profile needs a schedulerName")
    sets = document.get("plugins") or {}
    _check(sets)
    args = {each["name"]: each.get("args") or {} for each in document.get("pluginConfig") or ()}
    everywhere = _multi_point(sets.get("multiPoint") or {})
    made: dict[str, Plugin] = {}

    def plugin(called: str) -> Plugin:
        if called not in made:
            made[called] = MAKERS[called](args.get(called) or {})
        return made[called]

    filters = [plugin(each) for each in _at("filter", sets, everywhere) if each in MAKERS]
    scores = _at("score", sets, everywhere)
    scorers = [(plugin(each), weight or 1) for each, weight in scores.items() if each in MAKERS]
    after = _at("postFilter", sets, everywhere)
    limits = args.get(PREEMPTION) or {}
    return Profile(
        name,
        tuple(each for each in filters if each.filters),
        tuple((each, weight) for each, weight in scorers if each.scores),
        preempts=PREEMPTION in after,
        claims_are_checked="DynamicResources" in after,
        candidates_percent=_number(limits, "minCandidateNodesPercentage", 10),
        candidates_least=_number(limits, "minCandidateNodesAbsolute", 100),
    )


def _number(args: JsonObject, name: str, default: int) -> int:
    value = args.get(name)
    return default if value is None else int(value)


def _check(sets: Mapping[str, Any]) -> None:
    for point, given in sets.items():
        if point not in POINTS:
            raise SchedulerConfigError(f'unknown extension point "{point}"')
        for each in (*(given.get("enabled") or ()), *(given.get("disabled") or ())):
            if each["name"] != ALL and each["name"] not in DEFAULT_ORDER:
                raise SchedulerConfigError(f'plugin "{each["name"]}" does not exist')


def _names(listed: Iterable[JsonObject] | None) -> dict[str, int]:
    return {each["name"]: int(each.get("weight") or 0) for each in listed or ()}


def _multi_point(given: JsonObject) -> dict[str, int]:
    disabled, enabled = _names(given.get("disabled")), _names(given.get("enabled"))
    kept = {} if ALL in disabled else DEFAULT_ORDER
    found = {
        name: enabled.get(name) or weight for name, weight in kept.items() if name not in disabled
    }
    return {**found, **{name: n for name, n in enabled.items() if name not in found}}


def _at(point: str, sets: Mapping[str, Any], everywhere: Mapping[str, int]) -> dict[str, int]:
    """The rules of one point in their order: own choices first, then the general ones."""
    given = sets.get(point) or {}
    disabled, enabled = _names(given.get("disabled")), _names(given.get("enabled"))
    own = {
        name: weight or everywhere[name] for name, weight in enabled.items() if name in everywhere
    }
    general = {} if ALL in disabled else everywhere
    rest = {n: w for n, w in general.items() if n not in disabled and n not in own}
    return {**own, **rest, **{n: w for n, w in enabled.items() if n not in everywhere}}
