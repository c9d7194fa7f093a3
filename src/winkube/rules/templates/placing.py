"""Checks of where a pod goes: nothing pins it, things contradict, images of two systems."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.rules.context import Context
from winkube.rules.model import Hit
from winkube.rules.paths import first
from winkube.rules.placement import names_a_node, tolerates_windows_taint
from winkube.rules.templates.choice import parse_choice


def parse_verdict(params: Mapping[str, Any]) -> str:
    return parse_choice(params, "verdict", _FINDERS)


def placement(found: JsonObject, params: str, context: Context) -> Iterator[Hit]:
    yield from _FINDERS[params](found, context)


def _windows_unpinned(pod: JsonObject, context: Context) -> Iterator[Hit]:
    where = context.placement
    if where.is_windows and where.pinned is None and not names_a_node(pod):
        yield Hit(("spec",))


def _linux_unpinned(pod: JsonObject, context: Context) -> Iterator[Hit]:
    where = context.placement
    if where.is_windows or where.pinned is not None or where.narrowed:
        return
    if not any(tolerates_windows_taint(each) for each in _tolerations(pod)):
        yield Hit(("spec",))


def _linux_tolerant(pod: JsonObject, context: Context) -> Iterator[Hit]:
    where = context.placement
    if where.is_windows or where.pinned is not None or where.narrowed:
        return
    for index, toleration in enumerate(_tolerations(pod)):
        if tolerates_windows_taint(toleration):
            yield Hit(("spec", "tolerations", index))
            return


def _windows_without_toleration(pod: JsonObject, context: Context) -> Iterator[Hit]:
    where = context.placement
    if not where.is_windows or where.pinned == "linux":
        return
    if not any(tolerates_windows_taint(each) for each in _tolerations(pod)):
        yield Hit(("spec",))


def _contradiction(pod: JsonObject, context: Context) -> Iterator[Hit]:
    firm = context.placement.firm
    for other in firm[1:]:
        if other.os != firm[0].os:
            yield Hit(other.path, f"{firm[0].os} elsewhere, {other.os} here")
            return


def _foreign_image(pod: JsonObject, context: Context) -> Iterator[Hit]:
    os = context.placement.os
    for image in context.placement.images:
        if os is not None and image.os != os:
            yield Hit(image.path, str(first(pod, *image.path)))


def _tolerations(pod: JsonObject) -> list[Any]:
    found = first(pod, "spec", "tolerations")
    return found if isinstance(found, list) else []


_FINDERS: Final = {
    "windows-unpinned": _windows_unpinned,
    "linux-unpinned": _linux_unpinned,
    "linux-tolerant": _linux_tolerant,
    "windows-without-toleration": _windows_without_toleration,
    "contradiction": _contradiction,
    "foreign-image": _foreign_image,
}
