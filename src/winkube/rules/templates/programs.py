"""Checks of what programs of a node are told: flags, feature gates, the file of flannel."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.facts.life import flag_lives, gate_lives, has_flags_of
from winkube.rules.context import Context
from winkube.rules.model import Hit, Path
from winkube.rules.paths import find, first, parse_pattern

_FLAG: Final = re.compile(r"(?<![\w-])--?([a-z][a-z0-9-]+)")
_WORDS: Final = (
    parse_pattern("spec.allContainers[*].command[*]"),
    parse_pattern("spec.allContainers[*].args[*]"),
)
_CONTAINERS: Final = parse_pattern("spec.allContainers[*]")
_EXTRA_ARGS: Final = ("nodeRegistration", "kubeletExtraArgs")
_LOWEST_VNI, _VXLAN_PORT = 4096, 4789


@dataclass(frozen=True, slots=True)
class Program:
    name: str
    word: re.Pattern[str]


def parse_program(params: Mapping[str, Any]) -> Program:
    name = str(params["program"])
    if not has_flags_of(name):
        raise KeyError(f"unknown program {name}")
    return Program(name, re.compile(rf"(^|[\\/\s\"']){re.escape(name)}(\.exe)?($|[\s\"'])"))


def flags_of_pod(found: JsonObject, params: Program, context: Context) -> Iterator[Hit]:
    """Flags on the command line of a program that the target's version does not know."""
    words = [
        (path, word) for pattern in _WORDS for path, word in find(found, pattern) if _is_text(word)
    ]
    if not any(params.word.search(word) for _, word in words):
        return
    for path, word in words:
        for flag in _FLAG.findall(word):
            yield from _judge_flag(params.name, flag, path, context)


@dataclass(frozen=True, slots=True)
class NeededFlag:
    program: Program
    flag: str
    replaced_by: frozenset[str]


def parse_needed_flag(params: Mapping[str, Any]) -> NeededFlag:
    return NeededFlag(
        parse_program(params), str(params["flag"]), frozenset(params.get("unless") or ())
    )


def needed_flag(found: JsonObject, params: NeededFlag, context: Context) -> Iterator[Hit]:
    """A program whose command line lacks a flag, and those that stand for it."""
    for path, container in find(found, _CONTAINERS):
        words = [w for part in ("command", "args") for w in _texts(first(container, part))]
        if not any(params.program.word.search(word) for word in words):
            continue
        given = {flag for word in words for flag in _FLAG.findall(word)}
        if params.flag not in given and not given & params.replaced_by:
            yield Hit(path)


def flags_of_kubeadm(found: JsonObject, params: Program, context: Context) -> Iterator[Hit]:
    """The same for a kubeadm configuration: a map up to v1beta3, a list from v1beta4 on."""
    extra = first(found, *_EXTRA_ARGS)
    if isinstance(extra, dict):
        for flag in extra:
            yield from _judge_flag(params.name, str(flag), (*_EXTRA_ARGS, flag), context)
    elif isinstance(extra, list):
        for index, entry in enumerate(extra):
            place: Path = (*_EXTRA_ARGS, index)
            yield from _judge_flag(params.name, str(first(entry, "name")), place, context)


def _judge_flag(program: str, flag: str, path: Path, context: Context) -> Iterator[Hit]:
    known = flag_lives(program).get(flag)
    if known is not None and context.target.kubernetes not in known:
        yield Hit(path, f"--{flag}: {program} {known}")


def feature_gates(found: JsonObject, params: None, context: Context) -> Iterator[Hit]:
    """Feature gates of Windows that the target's version does not know."""
    gates = first(found, "featureGates")
    for gate in gates if isinstance(gates, dict) else ():
        known = gate_lives().get(gate)
        if known is not None and context.target.kubernetes not in known:
            yield Hit(("featureGates", gate), f"{gate}: Kubernetes {known}")


def flannel_vxlan(found: JsonObject, params: None, context: Context) -> Iterator[Hit]:
    """A VXLAN network that Windows nodes cannot join: VNI and port are fixed there."""
    place: Path = ("data", "net-conf.json")
    text = first(found, *place)
    try:
        backend = first(json.loads(text), "Backend") if _is_text(text) else None
    except ValueError:
        return
    if str(first(backend, "Type")).lower() != "vxlan":
        return
    vni, port = first(backend, "VNI"), first(backend, "Port")
    if not isinstance(vni, int) or vni < _LOWEST_VNI:
        yield Hit(place, f"VNI {vni or 1}")
    if port != _VXLAN_PORT:
        yield Hit(place, f"Port {port or 8472}")


def _texts(value: Any) -> list[str]:
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
