"""Ports of a pod's containers that meet."""

from collections.abc import Iterator

from winkube.api.validation.security import each_container
from winkube.base.types import JsonObject


def port_warnings(spec: JsonObject, path: str) -> Iterator[str]:
    ports = [
        (f"{here}.ports[{index}]", port)
        for container, here in each_container(spec, path)
        for index, port in enumerate(container.get("ports") or ())
    ]
    if ports:
        yield from _meeting(ports)
        yield from _names(ports)


def _meeting(ports: list[tuple[str, JsonObject]]) -> Iterator[str]:
    seen: dict[tuple[object, object], list[tuple[str, JsonObject]]] = {}
    for place, port in ports:
        if port.get("hostIP") and not port.get("hostPort"):
            yield f"{place}: hostIP set without hostPort: {_go_struct(port)}"
        others = seen.setdefault((port.get("containerPort"), port.get("protocol")), [])
        for other_place, other in others:
            kind = _conflict(port, other)
            if kind:
                yield f"{place}: {kind} port definition with {other_place}"
        others.append((place, port))


def _go_struct(port: JsonObject) -> str:
    return (
        f"{{Name:{port.get('name') or ''} HostPort:{port.get('hostPort') or 0} "
        f"ContainerPort:{port.get('containerPort') or 0} Protocol:{port.get('protocol') or ''} "
        f"HostIP:{port.get('hostIP') or ''}}}"
    )


def _conflict(port: JsonObject, other: JsonObject) -> str:
    address, number = port.get("hostIP") or "", port.get("hostPort") or 0
    its_address, its_number = other.get("hostIP") or "", other.get("hostPort") or 0
    if (address, number) == (its_address, its_number):
        return "duplicate"
    if not number or not its_number:
        return "overlapping"
    if number == its_number and bool(address) != bool(its_address):
        return "dangerously ambiguous"
    return ""


def _names(ports: list[tuple[str, JsonObject]]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for place, port in ports:
        name = port.get("name")
        if not name:
            continue
        first = seen.setdefault(name, place)
        if first != place:
            yield (
                f'{place}: duplicate port name "{name}" with {first}, services and probes that '
                f"select ports by name will use {first}"
            )
