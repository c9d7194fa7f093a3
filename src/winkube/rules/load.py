"""Turn data/*.yaml into frozen rules, once; an error names the file and the rule.

A file holds a list of rules of one area, sorted by id. The fields of a rule:

- ``id``: WIN-<AREA>-<NNN>; areas POD SEC VOL NET DNS SVC NODE IMG SCHED RES VER API. Never reused.
- ``title``, ``title_zh``: a short statement ("Windows has no host IPC namespace").
- ``effect``: ignored | refused | fails | differs; what happens on Windows.
- ``severity``: error (refused or will not run), warning (ignored or differs), info (advice).
- ``kinds``: ``[Pod]`` is every pod and pod template of any kind, found by shape; another kind is
  the object itself (``[Service]``, ``[Deployment, DaemonSet]``); ``["*"]`` is every object.
- ``pods``: windows (default) | linux | not-windows | any; which pods, by placement. For a Service
  it is the pods it selects in the same run; kinds that have no pods need ``any``.
- ``template`` and ``params``: see below.
- ``when`` / ``unless``: lists of conditions on the judged object (the pod, or the object): all of
  ``when`` and none of ``unless`` must hold. A condition: ``{field: <pattern>, <questions>}``;
  ``present: false`` turns it round.
- ``holds``: ``kubernetes: ">=1.5 <1.25"`` (alternatives with ``||``), ``windows: [ws2019]`` or
  ``"<20348"`` / ``">=17763 <20348"``, ``runtimes: [docker]``, ``networks: [overlay]``. What is left
  out holds everywhere. A network-limited rule is silent unless the target names its network.
- ``message``, ``remedy`` and ``message_zh``, ``remedy_zh``: why, and what to do.
- ``source``: one or a list: ``seed:<file>:<line>``, ``repo:path``, ``doc:<url or section>``.
- ``enforced``: api | kubelet | scheduler | proxy | runtime | cni | os | lint.
- ``fix`` (only if it cannot change what runs): ``{do: remove}`` the found field; ``{do: set,
  value}`` the found field; ``{do: add, at: <path below the pod or object>, value: {key: value}}``
  (a list as value is appended); ``{do: rename, value: newKey}`` the found key; ``{do: replace,
  value: {match: <regex>, with: <text>}}`` in the found text.

Templates and their params (questions are those of predicate.py: equals, in, not_in, matches,
not_matches, over, under, filled):

- ``forbid-field``: ``fields: [patterns]``, questions; ``show: true`` adds the value to the message.
- ``require-field``: ``each: <pattern>`` (default: the object), ``field: plain.path``, questions.
- ``too-many``: ``field``, ``over``: more list elements or map entries than that.
- ``placement``: ``verdict``: windows-unpinned | linux-unpinned | linux-tolerant |
  windows-without-toleration | contradiction | foreign-image.
- ``host-process``: ``check``: mixed | disagree | host-network | non-root.
- ``forbid-key``: ``maps: [patterns]``, ``key: <regular expression>``: keys of maps.
- ``too-often``: ``field: <pattern>``, ``over``: more places that match than that.
- ``unequal``: ``each``, ``left``, ``right``: two plain paths that are both there and differ.
- ``non-root-administrator``: ``user``: named | default; runAsNonRoot and ContainerAdministrator.
- ``program-flags``, ``kubeadm-flags``: ``program``: kubelet | kube-proxy; flags that the target's
  version does not know. ``require-program-flag``: ``program``, ``flag``, ``unless: [flags]``.
- ``kubelet-version``: ``versions: <range>``; a Node whose kubelet is of one of them.
- ``image-build``, ``api-version``, ``windows-supported``, ``node-supported``, ``target-supported``,
  ``feature-gates``: no params; they ask the tables.
- ``flannel-vxlan``: no params; net-conf.json of flannel.
- ``always``: no params; the object as such.
- ``no-check``: no params; a fact for people and other parts of winkube, that no manifest shows.

Patterns are those of paths.py: ``spec.allContainers[*].securityContext.privileged``.
Every rule needs tests/data/rules/<id>/ok.yaml and bad.yaml (except no-check); a first line
``# target: --kubernetes 1.19 --windows ws2019`` chooses another target for the pair.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path as FilePath
from typing import Any, Final

import yaml

from winkube.facts.errors import DataError, FactsError
from winkube.facts.version import parse_range
from winkube.rules.errors import RulesError, UnknownRuleError
from winkube.rules.model import (
    Builds,
    Effect,
    Enforced,
    Fix,
    Holds,
    Path,
    Pods,
    Rule,
    Severity,
    Text,
)
from winkube.rules.paths import parse_pattern
from winkube.rules.predicate import parse_conditions
from winkube.rules.target import NETWORKS, RUNTIMES, parse_build
from winkube.rules.templates.registry import TEMPLATES

DATA: Final = FilePath(__file__).parent / "data"
_ID: Final = re.compile(r"WIN-(POD|SEC|VOL|NET|DNS|SVC|NODE|IMG|SCHED|RES|VER|API)-\d{3}", re.ASCII)
_NEEDED: Final = frozenset(
    [
        "id",
        "title",
        "title_zh",
        "effect",
        "severity",
        "kinds",
        "template",
        "message",
        "message_zh",
        "remedy",
        "remedy_zh",
        "source",
        "enforced",
    ]
)
_KNOWN: Final = _NEEDED | frozenset(["params", "pods", "holds", "when", "unless", "fix"])
_FIXES: Final = ("remove", "set", "add", "rename", "replace")
_BUILD_BOUND: Final = re.compile(r"(>=|<)\s*(\S+)")


@cache
def load_rules() -> tuple[Rule, ...]:
    """All rules that ship, sorted by id."""
    rules = [rule for path in sorted(DATA.glob("*.yaml")) for rule in load_file(path)]
    return tuple(sorted(rules, key=lambda rule: rule.id))


def find_rule(rule_id: str) -> Rule:
    rules = {rule.id: rule for rule in load_rules()}
    found = rules.get(rule_id.upper())
    if found is None:
        raise UnknownRuleError(rule_id, difflib.get_close_matches(rule_id.upper(), rules, 3))
    return found


def load_file(path: FilePath) -> Iterator[Rule]:
    try:
        entries = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
    except (OSError, yaml.YAMLError) as error:
        raise DataError(path.name, "file", str(error)) from error
    if not isinstance(entries, list):
        raise DataError(path.name, "file", "must be a list of rules")
    for index, entry in enumerate(entries):
        name = entry.get("id") if isinstance(entry, dict) else None
        try:
            yield parse_rule(entry, path.name)
        except (
            FactsError,
            RulesError,
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
        ) as error:
            raise DataError(path.name, name or f"entry {index}", _sentence(error)) from error


def parse_rule(entry: Mapping[str, Any], file: str = "") -> Rule:
    _check_words(entry)
    template = str(entry["template"])
    if template not in TEMPLATES:
        raise ValueError(f"unknown template {template}")
    source = entry["source"]
    return Rule(
        id=entry["id"],
        effect=Effect(entry["effect"]),
        severity=Severity(entry["severity"]),
        kinds=frozenset(entry["kinds"]),
        pods=Pods(entry.get("pods", "windows")),
        template=template,
        params=TEMPLATES[template].parse(entry.get("params") or {}),
        holds=_parse_holds(entry.get("holds") or {}),
        english=Text(entry["title"], entry["message"], entry["remedy"]),
        chinese=Text(entry["title_zh"], entry["message_zh"], entry["remedy_zh"]),
        source=(source,) if isinstance(source, str) else tuple(source),
        enforced=Enforced(entry["enforced"]),
        when=parse_conditions(entry.get("when")),
        unless=parse_conditions(entry.get("unless")),
        fix=_parse_fix(entry.get("fix")),
        file=file,
    )


def _check_words(entry: Mapping[str, Any]) -> None:
    missing, unknown = _NEEDED - set(entry), set(entry) - _KNOWN
    if missing:
        raise ValueError(f"lacks {', '.join(sorted(missing))}")
    if unknown:
        raise ValueError(f"has unknown fields {', '.join(sorted(unknown))}")
    if not _ID.fullmatch(str(entry["id"])):
        raise ValueError("id is not of the form WIN-<AREA>-<NNN>")
    empty = [key for key in sorted(_NEEDED) if not entry[key]]
    if empty:
        raise ValueError(f"empty: {', '.join(empty)}")


def _parse_holds(entry: Mapping[str, Any]) -> Holds:
    unknown = set(entry) - {"kubernetes", "windows", "runtimes", "networks"}
    if unknown:
        raise ValueError(f"holds: unknown {', '.join(sorted(unknown))}")
    runtimes, networks = entry.get("runtimes") or (), entry.get("networks") or ()
    for word in (*(set(runtimes) - set(RUNTIMES)), *(set(networks) - set(NETWORKS))):
        raise ValueError(f"holds: unknown {word}")
    return Holds(
        kubernetes=parse_range(str(entry.get("kubernetes") or "")),
        windows=_parse_builds(entry.get("windows")),
        runtimes=frozenset(runtimes),
        networks=frozenset(networks),
    )


def _parse_builds(value: Any) -> Builds:
    if not value:
        return Builds()
    if not isinstance(value, str):
        return Builds(listed=frozenset(parse_build(str(word)) for word in value))
    bounds = {sign: parse_build(word) for sign, word in _BUILD_BOUND.findall(value)}
    if not bounds or _BUILD_BOUND.sub("", value).strip():
        raise ValueError(f"holds: not a range of builds: {value}")
    return Builds(lowest=bounds.get(">=", 0), below=bounds.get("<", 1 << 31))


def _parse_fix(entry: Mapping[str, Any] | None) -> Fix | None:
    if entry is None:
        return None
    if entry["do"] not in _FIXES:
        raise ValueError(f"fix: unknown {entry['do']}")
    at: Path = tuple(step for step in parse_pattern(entry.get("at", "")) if isinstance(step, str))
    return Fix(entry["do"], entry.get("value"), at)


def _sentence(error: Exception) -> str:
    return f"lacks {error}" if isinstance(error, KeyError) else str(error)
