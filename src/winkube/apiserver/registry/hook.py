"""Kinds that own something beyond their object (addresses, ports) take and return it here."""

from collections.abc import Callable
from typing import Protocol

from winkube.base.types import JsonObject

# Called once with whether the write succeeded: keep or give back what was taken.
Finish = Callable[[bool], None]


class Hook(Protocol):
    def begin(
        self, new: JsonObject | None, old: JsonObject | None, *, dry_run: bool = False
    ) -> Finish:
        """Complete ``new`` in place; no ``old`` is a creation, no ``new`` a deletion.

        What was completed may be changed until the write: ``Finish`` looks at it again.
        """
        ...


def nothing_to_finish(_: bool) -> None:
    return
