"""What pods use, read out of the answers of the three metrics APIs."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from winkube.api.go.duration import parse_duration
from winkube.api.meta import name_of
from winkube.api.quantity import to_milli
from winkube.base.clock import parse_rfc3339
from winkube.base.types import JsonObject

# The window of a custom metric that names none.
_WINDOW: Final = 60.0


@dataclass(frozen=True, slots=True)
class Usage:
    """One pod's figure: thousandths, measured over ``window`` seconds until ``at``."""

    value: int
    at: float = 0.0
    window: float = 0.0


def pod_usages(items: Iterable[JsonObject], resource: str) -> dict[str, Usage]:
    """By pod; one of whose containers a figure is missing has none."""
    found = {}
    for item in items:
        containers = item.get("containers") or ()
        figures = [(entry.get("usage") or {}).get(resource) for entry in containers]
        known = [figure for figure in figures if figure is not None]
        if figures and len(known) == len(figures):
            found[name_of(item)] = _usage(item, sum(map(to_milli, known)))
    return found


def container_usages(
    items: Iterable[JsonObject], resource: str, container: str
) -> dict[str, Usage]:
    found = {}
    for item in items:
        for entry in item.get("containers") or ():
            figure = (entry.get("usage") or {}).get(resource)
            if entry.get("name") == container and figure is not None:
                found[name_of(item)] = _usage(item, to_milli(figure))
    return found


def _usage(item: JsonObject, value: int) -> Usage:
    window = parse_duration(str(item.get("window") or "0s"))
    return Usage(value, parse_rfc3339(item["timestamp"]), window)


def custom_usages(items: Iterable[JsonObject]) -> dict[str, Usage]:
    """Of a custom.metrics.k8s.io MetricValueList."""
    found = {}
    for item in items:
        window = item.get("windowSeconds")
        found[item["describedObject"]["name"]] = Usage(
            to_milli(item["value"]),
            parse_rfc3339(item["timestamp"]),
            _WINDOW if window is None else float(window),
        )
    return found
