"""Checks that depend on the target: image builds, API versions, Windows versions of nodes."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.facts.life import api_version_lives
from winkube.facts.windows import name_of_build, runs_image, windows_versions
from winkube.rules.context import Context
from winkube.rules.errors import TargetError
from winkube.rules.image import build_of_image
from winkube.rules.model import Hit
from winkube.rules.paths import find, parse_pattern
from winkube.rules.placement import BUILD_LABEL
from winkube.rules.target import parse_build

_IMAGES: Final = parse_pattern("spec.allContainers[*].image")
_SELECTED: Final = parse_pattern(f'spec.nodeSelector["{BUILD_LABEL}"]')


def parse_nothing(params: Mapping[str, Any]) -> None:
    if params:
        raise KeyError(f"takes no parameters, got {', '.join(params)}")


def image_build(found: JsonObject, params: None, context: Context) -> Iterator[Hit]:
    """An image that no process-isolated container of the host can start."""
    host = _host_build(found, context)
    for path, name in find(found, _IMAGES):
        build = build_of_image(name) if isinstance(name, str) else None
        if build is not None and not runs_image(host, build):
            yield Hit(path, f"image {name_of_build(build)}, host {name_of_build(host)}")


def _host_build(pod: JsonObject, context: Context) -> int:
    """The build that the pod itself selects, else the target's."""
    for _, value in find(pod, _SELECTED):
        try:
            return parse_build(str(value))
        except TargetError:
            break
    return context.target.windows


def api_version(found: JsonObject, params: None, context: Context) -> Iterator[Hit]:
    """A kind under an API version that the target's server does not know."""
    key = (str(found.get("apiVersion")), str(found.get("kind")))
    life = api_version_lives().get(key)
    if life is None:
        return
    version = context.target.kubernetes.number[:2]
    removed, added = life.removed, life.added
    if removed is not None and version >= (removed.major, removed.minor):
        yield Hit(("apiVersion",), f"{key[0]} {key[1]} left in {removed}; use {life.use}")
    elif added is not None and version < (added.major, added.minor):
        yield Hit(("apiVersion",), f"{key[0]} {key[1]} came in {added}; use {life.use}")


def windows_supported(found: JsonObject, params: None, context: Context) -> Iterator[Hit]:
    """A selected Windows build that the target's Kubernetes does not support as a node."""
    for path, value in find(found, _SELECTED):
        for version in windows_versions():
            if value == f"10.0.{version.build}" and (
                context.target.kubernetes not in version.kubernetes
            ):
                yield Hit(path, f"{version.product}: Kubernetes {version.kubernetes}")
