"""Which clusters manifests are checked for: from the words of a user, or from live nodes."""

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Final

from winkube.base.types import JsonObject
from winkube.facts.version import LATEST, Version, parse_version
from winkube.facts.windows import (
    builds_by_word,
    name_of_build,
    unsupported_reason,
    windows_versions,
)
from winkube.rules.errors import TargetError
from winkube.rules.model import Target
from winkube.rules.paths import first

NETWORKS: Final = ("l2bridge", "overlay", "transparent", "l2tunnel", "nat")
RUNTIMES: Final = ("containerd", "docker", "cri-dockerd")
DEFAULT_WINDOWS: Final = "ws2022"
# flannel's back ends as the networks they make on Windows nodes (flannel: pkg/backend).
_FLANNEL: Final = {"vxlan": "overlay", "host-gw": "l2bridge"}
_BUILD: Final = re.compile(r"(?:10\.0\.)?(\d{5})(?:\.\d+)?")


def parse_target(
    kubernetes: str = "", windows: str = "", network: str = "", runtime: str = ""
) -> Target:
    """One target; what is left out is the current stable."""
    version = parse_version(kubernetes) if kubernetes else LATEST
    build = parse_build(windows) if windows else usual_build(version)
    _check("network", network, NETWORKS)
    _check("runtime", runtime, RUNTIMES)
    return _target(version, build, network or None, runtime or None)


def parse_targets(
    kubernetes: Sequence[str] = (),
    windows: Sequence[str] = (),
    network: Sequence[str] = (),
    runtime: Sequence[str] = (),
) -> tuple[Target, ...]:
    """Every combination of what a user listed; "a,b" is a list too."""
    sides = (_words(kubernetes), _words(windows), _words(network), _words(runtime))
    targets = (parse_target(*words) for words in itertools.product(*sides))
    return tuple(dict.fromkeys(targets))


def usual_build(version: Version) -> int:
    """The Windows that people run with a Kubernetes version: 2022, or the release before it."""
    build = parse_build(DEFAULT_WINDOWS)
    releases = [each for each in windows_versions() if each.name.startswith("ws")]
    supported = [each.build for each in releases if version in each.kubernetes]
    return max((each for each in supported if each <= build), default=build)


def to_unsupported(target: Target) -> str:
    """Why a target cannot exist; empty if it can."""
    return unsupported_reason(target.kubernetes, target.windows)


def parse_build(word: str) -> int:
    """A build from a name (ws2019, ltsc2019, 1809), a build (17763) or a version (10.0.17763)."""
    builds = builds_by_word()
    if word.lower() in builds:
        return builds[word.lower()]
    found = _BUILD.fullmatch(word)
    if found is None:
        raise TargetError("Windows version", word, (v.name for v in windows_versions()))
    return int(found[1])


def targets_of_nodes(nodes: Iterable[JsonObject]) -> tuple[Target, ...]:
    """The targets that the Windows nodes of a cluster are; empty if it has none."""
    found: dict[Target, None] = {}
    for node in nodes:
        labels = first(node, "metadata", "labels") or {}
        info = first(node, "status", "nodeInfo") or {}
        if labels.get("kubernetes.io/os", info.get("operatingSystem")) != "windows":
            continue
        word = labels.get("node.kubernetes.io/windows-build") or info.get("kernelVersion")
        runtime = str(info.get("containerRuntimeVersion")).partition(":")[0]
        target = _target(
            # A node that has just joined says nothing about itself yet.
            parse_version(info.get("kubeletVersion") or str(LATEST)),
            parse_build(word or DEFAULT_WINDOWS),
            _network_of(node),
            runtime if runtime in RUNTIMES else None,
        )
        found[target] = None
    return tuple(found)


def _network_of(node: JsonObject) -> str | None:
    """What the network's daemon has noted on the node; most note nothing."""
    kind = first(node, "metadata", "annotations", "flannel.alpha.coreos.com/backend-type")
    return _FLANNEL.get(kind) if isinstance(kind, str) else None


def _target(version: Version, build: int, network: str | None, runtime: str | None) -> Target:
    sides = (str(version), name_of_build(build), network, runtime)
    name = "/".join(side for side in sides if side)
    # Docker was the only runtime of Windows nodes until 1.18, and is none from 1.24 on.
    return Target(version, build, network, runtime or _usual_runtime(version), name)


def _usual_runtime(version: Version) -> str:
    return "docker" if (version.major, version.minor) < (1, 20) else "containerd"


def _words(listed: Sequence[str]) -> list[str]:
    words = [word.strip() for entry in listed for word in entry.split(",")]
    return [word for word in words if word] or [""]


def _check(what: str, word: str, known: Sequence[str]) -> None:
    if word and word not in known:
        raise TargetError(what, word, known)
