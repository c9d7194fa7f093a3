"""What the Windows nodes of a cluster are, as far as admission asks: targets and taints."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from winkube.base.types import JsonObject
from winkube.facts.errors import FactsError
from winkube.rules.errors import RulesError
from winkube.rules.model import Target
from winkube.rules.paths import first
from winkube.rules.placement import WINDOWS_TAINT_KEYS
from winkube.rules.target import parse_target, targets_of_nodes

Taint = tuple[str, str, str]  # key, value, effect
_KEEPS_OFF: Final = frozenset({"NoSchedule", "NoExecute"})
# A fleet of nodes of ever so many kinds must not make every answer slow.
_MOST_TARGETS: Final = 8


@dataclass(frozen=True, slots=True)
class WindowsNode:
    target: Target
    taints: tuple[Taint, ...] = ()


@dataclass(frozen=True, slots=True)
class Cluster:
    """``is_tainted``: no Windows node takes a pod without a toleration."""

    targets: tuple[Target, ...]
    taints: tuple[Taint, ...] = ()
    has_windows: bool = True
    is_tainted: bool = False

    def narrowed(self, build: str) -> "Cluster":
        """The nodes with this value of the build label; all of them if there is none such."""
        left = tuple(each for each in self.targets if build == f"10.0.{each.windows}")
        return replace(self, targets=left) if left else self


class World(Protocol):
    """Where admission looks things up; a change of the cluster is a new value."""

    def cluster(self) -> Cluster: ...

    @property
    def runtime_classes(self) -> Mapping[str, JsonObject]: ...


@dataclass(frozen=True, slots=True)
class FixedWorld:
    """A cluster that does not change."""

    said: Cluster
    runtime_classes: Mapping[str, JsonObject]

    def cluster(self) -> Cluster:
        return self.said


def read_node(node: JsonObject) -> WindowsNode | None:
    """None for a node of Linux, and for one that says what no Windows says."""
    try:
        targets = targets_of_nodes([node])
    except (FactsError, RulesError):
        return None
    if not targets:
        return None
    found: Any = first(node, "spec", "taints")
    taints = [_read_taint(each) for each in (found if isinstance(found, list) else ())]
    return WindowsNode(targets[0], tuple(taint for taint in taints if _is_of_windows(taint)))


def gather(nodes: Iterable[WindowsNode], version: str) -> Cluster:
    """``version`` is the one served: what holds while there is no Windows node."""
    known = list(nodes)
    if not known:
        # Nodes that come when they are needed are usually made with the usual taint.
        usual = ("os", "windows", "NoSchedule")
        return Cluster((parse_target(version),), (usual,), has_windows=False)
    targets = sorted({node.target for node in known}, key=str)[:_MOST_TARGETS]
    taints = sorted({taint for node in known for taint in node.taints})
    return Cluster(
        tuple(targets), tuple(taints), is_tainted=all(bool(node.taints) for node in known)
    )


def to_taint(taint: Taint) -> JsonObject:
    key, value, effect = taint
    return {"key": key, "value": value, "effect": effect}


def tolerations_in(spec: JsonObject) -> list[JsonObject]:
    listed = spec.get("tolerations")
    return [each for each in (listed if isinstance(listed, list) else ()) if isinstance(each, dict)]


def _read_taint(taint: Any) -> Taint:
    if not isinstance(taint, dict):
        return "", "", ""
    return (
        str(taint.get("key") or ""),
        str(taint.get("value") or ""),
        str(taint.get("effect") or ""),
    )


def _is_of_windows(taint: Taint) -> bool:
    """Whether it says "only Windows pods here", and not that the node is busy, full or reserved."""
    key, value, effect = taint
    return effect in _KEEPS_OFF and (key in WINDOWS_TAINT_KEYS or value.lower() == "windows")
