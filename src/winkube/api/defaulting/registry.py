"""Every defaulting function by group and kind."""

from collections.abc import Callable
from typing import Final

from winkube.base.types import JsonObject

DEFAULTS: Final[dict[tuple[str, str], Callable[[JsonObject], None]]] = {}
