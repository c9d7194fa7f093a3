"""Validation by kind, with the field paths, reasons and sentences of upstream."""

from winkube.api.validation.rules import validate_create, validate_update

__all__ = ["validate_create", "validate_update"]
