"""For which system a pod is, and what keeps it on nodes of that system.

Two questions with two answers. What a pod is *meant* for shows in spec.os, selectors, Windows
options and image names. What *pins* it is only what the scheduler looks at: node selector, node
affinity, the RuntimeClass and nodeName. A pod that is meant for one system and pinned to none
lands on the other by accident.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.rules.image import os_of_image
from winkube.rules.model import Path
from winkube.rules.paths import CONTAINERS, find, first, parse_pattern

OS_LABELS: Final = ("kubernetes.io/os", "beta.kubernetes.io/os")
NAME_LABEL: Final = "kubernetes.io/hostname"
BUILD_LABEL: Final = "node.kubernetes.io/windows-build"
ARCH_LABELS: Final = ("kubernetes.io/arch", "beta.kubernetes.io/arch")
CONTROL_PLANE: Final = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
WINDOWS_TAINT_KEYS: Final = ("os", "node.kubernetes.io/os", "kubernetes.io/os")
_BOTH: Final = frozenset({"linux", "windows"})
_OPTIONS: Final = (
    parse_pattern("spec.securityContext.windowsOptions"),
    parse_pattern("spec.allContainers[*].securityContext.windowsOptions"),
)
_IMAGES: Final = parse_pattern("spec.allContainers[*].image")


@dataclass(frozen=True, slots=True)
class Evidence:
    path: Path
    os: str


@dataclass(frozen=True, slots=True)
class Placement:
    os: str | None  # what it is meant for
    pinned: str | None  # where the scheduler keeps it
    narrowed: bool  # something else narrows the nodes: a name, labels we do not know
    firm: tuple[Evidence, ...] = ()
    images: tuple[Evidence, ...] = ()

    @property
    def is_windows(self) -> bool:
        return self.os == "windows"


def place(pod: JsonObject, runtime_classes: Mapping[str, JsonObject]) -> Placement:
    """Read a pod or a pod template."""
    spec = pod.get("spec")
    if not isinstance(spec, dict):
        return Placement(None, None, False)
    pins = [*_pins(spec, runtime_classes)]
    declared = [Evidence(("spec", "os", "name"), name) for name in _declared(spec)]
    options = [Evidence(path, "windows") for pattern in _OPTIONS for path, _ in find(pod, pattern)]
    images = tuple(_images(pod))
    windows_images = [evidence for evidence in images if evidence.os == "windows"]
    believed = [*declared, *pins, *options, *windows_images]
    return Placement(
        os=believed[0].os if believed else None,
        pinned=pins[0].os if pins else None,
        narrowed=_is_narrowed(spec),
        firm=(*declared, *pins),
        images=images,
    )


def meant_for(spec: Any, runtime_classes: Mapping[str, JsonObject]) -> str | None:
    """The system of ``place`` alone, for callers that ask about every pod of a busy server."""
    if not isinstance(spec, dict):
        return None
    for found in _declared(spec):
        return found
    for evidence in _pins(spec, runtime_classes):
        return evidence.os
    if _has_options(spec):
        return "windows"
    for name in CONTAINERS:
        containers = spec.get(name)
        for container in containers if isinstance(containers, list) else ():
            if not isinstance(container, dict):
                continue
            image = container.get("image")
            if _has_options(container) or (
                isinstance(image, str) and os_of_image(image) == "windows"
            ):
                return "windows"
    return None


def _pins(spec: JsonObject, runtime_classes: Mapping[str, JsonObject]) -> Iterator[Evidence]:
    if "nodeSelector" in spec:
        yield from _selector(spec)
    if "affinity" in spec:
        yield from _affinity(spec)
    if "runtimeClassName" in spec:
        yield from _runtime_class(spec, runtime_classes)


def _has_options(part: JsonObject) -> bool:
    context = part.get("securityContext")
    return isinstance(context, dict) and "windowsOptions" in context


def names_a_node(pod: JsonObject) -> bool:
    """Who chooses the machine by its name knows its system."""
    selector = first(pod, "spec", "nodeSelector")
    named = isinstance(selector, dict) and NAME_LABEL in selector
    return named or bool(first(pod, "spec", "nodeName"))


def tolerates_windows_taint(toleration: Any) -> bool:
    """Whether this toleration lets a pod onto nodes tainted os=windows:NoSchedule."""
    if not isinstance(toleration, dict) or toleration.get("effect") not in (None, "", "NoSchedule"):
        return False
    key, exists = toleration.get("key") or "", toleration.get("operator") == "Exists"
    if not key:
        return exists
    return key in WINDOWS_TAINT_KEYS and (exists or toleration.get("value") == "windows")


def _declared(spec: JsonObject) -> Iterator[str]:
    name = first(spec, "os", "name")
    if isinstance(name, str) and name in _BOTH:
        yield name


def _selector(spec: JsonObject) -> Iterator[Evidence]:
    selector = spec.get("nodeSelector")
    if not isinstance(selector, dict):
        return
    for key, value in selector.items():
        os = _os_of_label(key, [value])
        if os is not None:
            yield Evidence(("spec", "nodeSelector", key), os)


def _os_of_label(key: Any, values: list[Any]) -> str | None:
    """The only system whose nodes can have one of these values."""
    if key in OS_LABELS:
        allowed = _BOTH & {value for value in values if isinstance(value, str)}
        return next(iter(allowed)) if len(allowed) == 1 else None
    if key == BUILD_LABEL:
        return "windows"
    # No release of Kubernetes has a Windows node that is not amd64, or a control plane on Windows.
    if key in CONTROL_PLANE or (key in ARCH_LABELS and "amd64" not in values):
        return "linux"
    return None


def _affinity(spec: JsonObject) -> Iterator[Evidence]:
    steps = ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = first(spec, "affinity", *steps, "nodeSelectorTerms")
    if not isinstance(terms, list) or not terms:
        return
    allowed = set().union(*(_allowed_by(term) for term in terms))
    if len(allowed) == 1:
        yield Evidence(("spec", "affinity", *steps, "nodeSelectorTerms"), allowed.pop())


def _allowed_by(term: Any) -> frozenset[str]:
    """The systems a term leaves: its expressions hold together."""
    allowed = _BOTH
    expressions = term.get("matchExpressions") if isinstance(term, dict) else None
    for wanted in expressions if isinstance(expressions, list) else ():
        if not isinstance(wanted, dict):
            continue
        key, values = wanted.get("key"), wanted.get("values")
        values = values if isinstance(values, list) else []
        if wanted.get("operator") == "NotIn" and key in OS_LABELS:
            allowed -= {value for value in values if isinstance(value, str)}
        elif wanted.get("operator") == "DoesNotExist" and key == BUILD_LABEL:
            allowed -= {"windows"}
        elif wanted.get("operator") in ("In", "Exists"):
            os = _os_of_label(key, values)
            allowed &= {os} if os else _BOTH
    return allowed


def _runtime_class(spec: JsonObject, known: Mapping[str, JsonObject]) -> Iterator[Evidence]:
    name = spec.get("runtimeClassName")
    if not isinstance(name, str):
        return
    document = known.get(name) or {}
    handler = document.get("handler") or name
    selector = first(document, "scheduling", "nodeSelector")
    found = [_os_of_label(key, [value]) for key, value in (selector or {}).items()]
    if isinstance(handler, str) and handler.startswith("runhcs-wcow"):
        found.append("windows")
    yield from (Evidence(("spec", "runtimeClassName"), os) for os in found[:1] if os)


def _images(pod: JsonObject) -> Iterator[Evidence]:
    for path, image in find(pod, _IMAGES):
        os = os_of_image(image) if isinstance(image, str) else None
        if os is not None:
            yield Evidence(path, os)


def _is_narrowed(spec: JsonObject) -> bool:
    selector = spec.get("nodeSelector")
    steps = ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    return bool(
        spec.get("nodeName")
        or (isinstance(selector, dict) and set(selector) - {*OS_LABELS, *ARCH_LABELS})
        or first(spec, "affinity", *steps)
        or spec.get("runtimeClassName")
    )
