"""Checks of HostProcess pods: all containers or none, pod and container agree."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.rules.context import Context
from winkube.rules.model import Hit, Path
from winkube.rules.paths import find, first, parse_pattern
from winkube.rules.templates.choice import parse_choice

_CONTAINERS: Final = parse_pattern("spec.allContainers[*]")
_OPTION: Final = ("securityContext", "windowsOptions", "hostProcess")


def parse_check(params: Mapping[str, Any]) -> str:
    return parse_choice(params, "check", _CHECKS)


def host_process(found: JsonObject, params: str, context: Context) -> Iterator[Hit]:
    yield from _CHECKS[params](found)


def is_host_process(pod: JsonObject) -> bool:
    return any(is_on for _, is_on in _containers(pod))


def _containers(pod: JsonObject) -> Iterator[tuple[Path, bool]]:
    """Each container and whether it is HostProcess: its own word, else the pod's."""
    pods = first(pod, "spec", *_OPTION)
    for path, container in find(pod, _CONTAINERS):
        own = first(container, *_OPTION)
        yield path, (pods if own is None else own) is True


def _mixed(pod: JsonObject) -> Iterator[Hit]:
    found = list(_containers(pod))
    if any(is_on for _, is_on in found):
        yield from (Hit(path) for path, is_on in found if not is_on)


def _disagree(pod: JsonObject) -> Iterator[Hit]:
    pods = first(pod, "spec", *_OPTION)
    for path, container in find(pod, _CONTAINERS):
        own = first(container, *_OPTION)
        if None not in (own, pods) and own is not pods:
            yield Hit((*path, *_OPTION))


def _host_network(pod: JsonObject) -> Iterator[Hit]:
    if is_host_process(pod) and first(pod, "spec", "hostNetwork") is not True:
        path: Path = ("spec", "hostNetwork")
        yield Hit(path if first(pod, *path) is not None else ("spec",))


def _non_root(pod: JsonObject) -> Iterator[Hit]:
    if not is_host_process(pod):
        return
    for pattern in ("spec.securityContext", "spec.allContainers[*].securityContext"):
        for path, context in find(pod, parse_pattern(pattern)):
            if first(context, "runAsNonRoot") is True:
                yield Hit((*path, "runAsNonRoot"))


_CHECKS: Final = {
    "mixed": _mixed,
    "disagree": _disagree,
    "host-network": _host_network,
    "non-root": _non_root,
}
