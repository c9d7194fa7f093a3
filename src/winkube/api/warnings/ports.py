"""Ports of a pod's containers that meet."""

from collections.abc import Iterator

from winkube.api.validation.pod.security import each_container
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
    seen: dict[Key, list[Placed]] = {}
    for index, (place, port) in enumerate(ports):
        if port.get("hostIP") and not port.get("hostPort"):
            yield f"{place}: hostIP set without hostPort: {_go_struct(port)}"
        found = {entry[0]: entry for key in _met_by(port) for entry in seen.get(key, ())}
        for _, other_place, other in map(found.__getitem__, sorted(found)):
            yield f"{place}: {_conflict(port, other)} port definition with {other_place}"
        for key in _known_by(port):
            seen.setdefault(key, []).append((index, place, port))


Placed = tuple[int, str, JsonObject]
# A port and protocol of the container; the port of the host and its address, or None for any.
Key = tuple[object, object, int | None, str | None]


def _known_by(port: JsonObject) -> list[Key]:
    """Where those look for the port that it meets."""
    number, address = port.get("hostPort") or 0, port.get("hostIP") or ""
    own = (port.get("containerPort"), port.get("protocol"))
    return [(*own, None, None), (*own, number, None), (*own, number, address)]


def _met_by(port: JsonObject) -> list[Key]:
    """Ports of one host and address meet, those of any address, and those of no host's port."""
    number, address = port.get("hostPort") or 0, port.get("hostIP") or ""
    own = (port.get("containerPort"), port.get("protocol"))
    if not number:
        return [(*own, None, None)]
    same: list[Key] = [(*own, number, address), (*own, number, "")] if address else []
    return [(*own, 0, None), *(same or [(*own, number, None)])]


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
    return "dangerously ambiguous"


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
