"""The values of the knowledge base: a rule, where it holds, and what it finds."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from winkube.facts.version import Version, VersionRange

if TYPE_CHECKING:
    from winkube.rules.predicate import Condition

Path = tuple[str | int, ...]


class Effect(StrEnum):
    """What happens on Windows."""

    IGNORED = "ignored"
    REFUSED = "refused"
    FAILS = "fails"
    DIFFERS = "differs"


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 is the worst."""
        return _RANKS[self]


_RANKS: Final = {severity: rank for rank, severity in enumerate(Severity)}


class Pods(StrEnum):
    """The pods a rule is about, by what their placement says."""

    WINDOWS = "windows"
    LINUX = "linux"
    NOT_WINDOWS = "not-windows"
    ANY = "any"


class Enforced(StrEnum):
    """Who makes the rule true."""

    API = "api"
    KUBELET = "kubelet"
    SCHEDULER = "scheduler"
    PROXY = "proxy"
    RUNTIME = "runtime"
    CNI = "cni"
    OS = "os"
    LINT = "lint"


@dataclass(frozen=True, slots=True)
class Target:
    """One kind of cluster that manifests are checked for; None means nothing is said."""

    kubernetes: Version
    windows: int
    network: str | None = None
    runtime: str | None = None
    name: str = ""

    def __str__(self) -> str:
        return self.name or f"{self.kubernetes}/{self.windows}"


@dataclass(frozen=True, slots=True)
class Builds:
    """Windows builds by name, or every build between two."""

    listed: frozenset[int] = frozenset()
    lowest: int = 0
    below: int = 1 << 31

    def __contains__(self, build: int) -> bool:
        if self.listed:
            return build in self.listed
        return self.lowest <= build < self.below


@dataclass(frozen=True, slots=True)
class Holds:
    """Where a rule is true; an empty set says nothing about that side."""

    kubernetes: VersionRange = field(default_factory=VersionRange)
    windows: Builds = field(default_factory=Builds)
    runtimes: frozenset[str] = frozenset()
    networks: frozenset[str] = frozenset()

    def at(self, target: Target) -> bool:
        """Whether the rule is true there; a side the target leaves open must not be limited."""
        return (
            target.kubernetes in self.kubernetes
            and target.windows in self.windows
            and (not self.runtimes or target.runtime in self.runtimes)
            and (not self.networks or target.network in self.networks)
        )


@dataclass(frozen=True, slots=True)
class Fix:
    """A repair that is safe; load.py says what can be done."""

    do: str
    value: Any = None
    at: Path = ()


@dataclass(frozen=True, slots=True)
class Text:
    """What people read, in one language."""

    title: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Rule:
    id: str
    effect: Effect
    severity: Severity
    kinds: frozenset[str]
    pods: Pods
    template: str
    params: Any
    holds: Holds
    english: Text
    chinese: Text
    source: tuple[str, ...]
    enforced: Enforced
    when: "tuple[Condition, ...]" = ()
    unless: "tuple[Condition, ...]" = ()
    fix: Fix | None = None
    file: str = ""

    @property
    def area(self) -> str:
        return self.id.split("-")[1]


class Hit(NamedTuple):
    """One place a template found, below the object it was given."""

    path: Path
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ObjectRef:
    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {place}{self.name}"


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that an object breaks: where in the object, and for which targets."""

    rule: Rule
    ref: ObjectRef
    path: Path
    detail: str = ""
    targets: tuple[Target, ...] = ()
    fix_path: Path = ()  # where the rule's fix has to work


def to_text(path: Path) -> str:
    """A path as people write it: spec.containers[0].image."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.replace("_", "").replace("-", "").isalnum():
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text
