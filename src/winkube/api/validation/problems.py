"""Collect validation problems in upstream's wording (apimachinery: util/validation/field)."""

from collections.abc import Iterable
from typing import Any

import orjson

from winkube.api.errors import Cause
from winkube.api.go.text import quoted, web_safe
from winkube.api.internal import selectors_in_order


class Problems:
    """Paths are plain text: ``spec.containers[0].name``, ``metadata.labels``."""

    def __init__(self) -> None:
        self.causes: list[Cause] = []

    def __bool__(self) -> bool:
        return bool(self.causes)

    def invalid(self, path: str, value: Any, detail: str) -> None:
        self._add("FieldValueInvalid", path, f"Invalid value: {_shown(value)}", detail)

    def invalid_enum(self, path: str, value: Any, detail: str) -> None:
        """Of a type with a name of its own, or optional: it is shown as JSON shows it."""
        self._add("FieldValueInvalid", path, f"Invalid value: {_as_json(value)}", detail)

    def malformed(self, path: str, detail: str) -> None:
        """Invalid, with a value that is not worth showing."""
        self._add("FieldValueInvalid", path, "Invalid value", detail)

    def all_invalid(self, path: str, value: Any, details: Iterable[str]) -> None:
        for detail in details:
            self.invalid(path, value, detail)

    def all_invalid_enum(self, path: str, value: Any, details: Iterable[str]) -> None:
        for detail in details:
            self.invalid_enum(path, value, detail)

    def required(self, path: str, detail: str = "") -> None:
        self._add("FieldValueRequired", path, "Required value", detail)

    def forbidden(self, path: str, detail: str) -> None:
        self._add("FieldValueForbidden", path, "Forbidden", detail)

    def internal(self, path: str, detail: str) -> None:
        self._add("InternalError", path, "Internal error", detail)

    def duplicate(self, path: str, value: Any, detail: str = "") -> None:
        self._add("FieldValueDuplicate", path, f"Duplicate value: {_shown(value)}", detail)

    def not_found(self, path: str, value: Any, detail: str = "") -> None:
        self._add("FieldValueNotFound", path, f"Not found: {_shown(value)}", detail)

    def unsupported(self, path: str, value: Any, supported: Iterable[str]) -> None:
        """Of a type with a name of its own, as nearly all that has a choice of values."""
        self._unsupported(path, _as_json(value), supported)

    def unsupported_text(self, path: str, value: str, supported: Iterable[str]) -> None:
        """Of what upstream keeps as plain text."""
        self._unsupported(path, quoted(value), supported)

    def _unsupported(self, path: str, shown: str, supported: Iterable[str]) -> None:
        known = ", ".join(f'"{text}"' for text in supported)
        self._add(
            "FieldValueNotSupported",
            path,
            f"Unsupported value: {shown}",
            f"supported values: {known}",
        )

    def too_long(self, path: str, limit: int) -> None:
        unit = "byte" if limit == 1 else "bytes"
        self._add("FieldValueTooLong", path, "Too long", f"may not be more than {limit} {unit}")

    def too_many(self, path: str, count: int, limit: int) -> None:
        unit = "item" if limit == 1 else "items"
        self._add(
            "FieldValueTooMany", path, f"Too many: {count}", f"must have at most {limit} {unit}"
        )

    def _add(self, reason: str, path: str, what: str, detail: str) -> None:
        message = f"{what}: {detail}" if detail else what
        self.causes.append(Cause(reason, message, path))


def _shown(value: Any) -> str:
    """Strings quoted, everything else as JSON."""
    return quoted(value) if isinstance(value, str) else _as_json(value)


def _as_json(value: Any) -> str:
    """As enums and structs are shown."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    try:
        return web_safe(orjson.dumps(selectors_in_order(value)).decode())
    except orjson.JSONEncodeError:
        return f'"{value}"'
