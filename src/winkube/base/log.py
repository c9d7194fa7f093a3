"""One formatter for every process: time, level, logger, message, then the facts of ``extra``."""

import logging
import sys
from typing import Final

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class FactFormatter(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname).1s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        facts = {key: value for key, value in vars(record).items() if key not in _STANDARD}
        head, newline, trace = line.partition("\n")
        return head + "".join(f" {key}={value!r}" for key, value in facts.items()) + newline + trace


def configure(level: str = "INFO") -> None:
    """Send every record of this process to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(FactFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
