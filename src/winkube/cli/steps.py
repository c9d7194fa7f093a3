"""Live steps with elapsed times: one line each, rewritten in place on a terminal.

No thread draws them: ``up`` forks, and a fork with threads is a trap.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TextIO

_WIDTH: Final = 22


class TerminalSteps:
    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False) -> None:
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty()
        self._quiet = quiet
        self._began = time.monotonic()

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._began

    @contextmanager
    def step(self, title: str) -> Iterator[Callable[[str, float], None]]:
        """Show a step while its block runs; its value reports progress."""
        began = time.monotonic()
        notes: list[str] = []

        def progress(note: str, fraction: float) -> None:
            if self._quiet or notes[-1:] == [self._note(note, fraction)]:
                return
            notes.append(self._note(note, fraction))
            self._draw("•", title, notes[-1], began)

        self._draw("•", title, "", began)
        try:
            yield progress
        except BaseException:
            self._draw("✗", title, "", began, final=True)
            raise
        self._draw("✓", title, "", began, final=True)

    @staticmethod
    def _note(note: str, fraction: float) -> str:
        return f"{note} {fraction:4.0%}" if fraction > 0 else note

    def _draw(self, mark: str, title: str, note: str, began: float, *, final: bool = False) -> None:
        if self._quiet or not (self._live or final or note):
            return
        seconds = f"{time.monotonic() - began:6.2f} s" if final else ""
        text = f" {mark} {title:<{_WIDTH}} {seconds}{note}"
        if self._live:
            self._stream.write(f"\r\x1b[2K{text}" + ("\n" if final else ""))
        else:
            self._stream.write(f"{text}\n")
        self._stream.flush()
