"""Every printer by group and kind."""

from typing import Final

from winkube.api.printing.printer import Printer

PRINTERS: Final[dict[tuple[str, str], Printer]] = {}
