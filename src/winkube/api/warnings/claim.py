"""Persistent volume claims."""

from collections.abc import Iterator

from winkube.api.meta import annotations_of
from winkube.api.validation.pod.resources import number_of
from winkube.api.volumes import CLASS_BETA
from winkube.base.types import JsonObject


def claim_warnings(obj: JsonObject) -> Iterator[str]:
    if CLASS_BETA in annotations_of(obj):
        text = 'deprecated since v1.8; use "storageClassName" attribute instead'
        yield f"metadata.annotations[{CLASS_BETA}]: {text}"
    yield from claim_spec_warnings(obj.get("spec") or {}, "spec")


def claim_spec_warnings(spec: JsonObject, path: str) -> Iterator[str]:
    resources = spec.get("resources") or {}
    for field in ("requests", "limits"):
        quantity = (resources.get(field) or {}).get("storage")
        if quantity is not None and number_of(quantity).denominator != 1:
            text = f'fractional byte value "{quantity}" is invalid, must be an integer'
            yield f"{path}.resources.{field}[storage]: {text}"
