"""What a printer is: headers and a function from object to cells."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from winkube.api.meta import metadata, name_of
from winkube.api.printing.age import age_of
from winkube.api.selector.labels import selector_query
from winkube.base.types import JsonObject

NONE = "<none>"


@dataclass(frozen=True, slots=True)
class Printer:
    """Headers: a first ``+`` marks a wide column, a last sign its type (table.py)."""

    headers: tuple[str, ...]
    cells: Callable[[JsonObject, float], list[Any]]


def age(obj: JsonObject, now: float) -> str:
    return age_of(metadata(obj).get("creationTimestamp"), now)


def created(obj: JsonObject) -> str:
    """When, in full; Go's first moment for what nobody created, such as a bookmark."""
    return metadata(obj).get("creationTimestamp") or "0001-01-01T00:00:00Z"


def named(obj: JsonObject) -> str:
    return name_of(obj)


def spec_of(obj: JsonObject) -> JsonObject:
    return obj.get("spec") or {}


def status_of(obj: JsonObject) -> JsonObject:
    return obj.get("status") or {}


def joined(values: Any, separator: str = ",") -> str:
    return separator.join(str(value) for value in values) or NONE


def labels_text(labels: dict[str, str] | None) -> str:
    return joined(f"{key}={value}" for key, value in sorted((labels or {}).items()))


def selector_text(selector: JsonObject | None) -> str:
    return selector_query(selector) or NONE


def containers_text(template: JsonObject | None) -> tuple[str, str]:
    """Names and images of a pod template's containers."""
    containers = spec_of(template or {}).get("containers") or ()
    names = ",".join(str(container.get("name", "")) for container in containers)
    return names, ",".join(str(container.get("image", "")) for container in containers)


def with_more(values: list[str], limit: int, *, empty: str) -> str:
    """The first few, and how many are left out."""
    shown = ",".join(values[:limit])
    if len(values) > limit:
        return f"{shown} + {len(values) - limit} more..."
    return shown or empty
