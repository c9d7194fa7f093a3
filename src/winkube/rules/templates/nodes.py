"""Checks of Windows versions: of Node objects, and of the target itself."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.facts.errors import VersionError
from winkube.facts.version import Version, VersionRange, parse_range, parse_version
from winkube.facts.windows import name_of_build, unsupported_reason
from winkube.rules.context import Context
from winkube.rules.errors import TargetError
from winkube.rules.model import Hit, Path
from winkube.rules.paths import first
from winkube.rules.target import parse_build

_KUBELET: Final[Path] = ("status", "nodeInfo", "kubeletVersion")
_KERNEL: Final[Path] = ("status", "nodeInfo", "kernelVersion")


def parse_kubelets(params: Mapping[str, Any]) -> VersionRange:
    return parse_range(str(params["versions"]))


def kubelet_version(found: JsonObject, params: VersionRange, context: Context) -> Iterator[Hit]:
    """A node whose kubelet is of one of these versions."""
    version = _version_of(found)
    if version is not None and version in params:
        yield Hit(_KUBELET, str(version))


def node_supported(found: JsonObject, params: None, context: Context) -> Iterator[Hit]:
    """A Windows node whose own Kubernetes does not support its Windows."""
    version, kernel = _version_of(found), first(found, *_KERNEL)
    if version is None or not isinstance(kernel, str):
        return
    try:
        build = parse_build(kernel)
    except TargetError:
        return
    if unsupported_reason(version, build):
        yield Hit(_KERNEL, f"{name_of_build(build)} with Kubernetes {version}")


def target_supported(found: JsonObject, params: None, context: Context) -> Iterator[Hit]:
    """A target that names a Windows which its Kubernetes does not support."""
    target = context.target
    if unsupported_reason(target.kubernetes, target.windows):
        detail = f"{name_of_build(target.windows)} with Kubernetes {target.kubernetes}"
        yield Hit(("spec",), detail)


def _version_of(node: JsonObject) -> Version | None:
    text = first(node, *_KUBELET)
    try:
        return parse_version(text) if isinstance(text, str) else None
    except VersionError:
        return None


def always(found: JsonObject, params: None, context: Context) -> Iterator[Hit]:
    """The object as such: that it is there at all is what the rule is about."""
    yield Hit(("spec",) if "spec" in found else ("kind",))
