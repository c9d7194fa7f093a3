"""What ginkgo says while it runs, as one line per test that has ended.

Each test is a block between dashes: run alone its name comes first and the outcome last, run beside
others the other way round. What a test itself says is indented, and so is never taken for either.
"""

import re
from typing import Final

_TOTAL: Final = re.compile(r"Will run (\d+) of \d+ specs")
_OUTCOME: Final = re.compile(r"[•SP] (?:\[([A-Z ]+)\] )?\[([\d.]+) seconds\]")
_LABELS: Final = re.compile(r" \[[^\]]*, [^\]]*\]$")
_DASHES: Final = "-----"


class Progress:
    def __init__(self) -> None:
        self._total = "?"
        self._ended = 0
        self._name = ""
        self._outcome: re.Match[str] | None = None

    def read(self, line: str) -> str | None:
        """Take a line; what there is to be said after it."""
        if total := _TOTAL.match(line):
            self._total = total[1]
        elif line.startswith(_DASHES):
            self._name, self._outcome = "", None
        elif self._outcome is None and (outcome := _OUTCOME.match(line)):
            self._outcome = outcome
            return self._say() if self._name else None
        elif not self._name and line.startswith("[sig-"):
            self._name = _LABELS.sub("", line.rstrip())
            return self._say() if self._outcome else None
        return None

    def _say(self) -> str:
        assert self._outcome is not None
        self._ended += 1
        word, seconds = self._outcome[1] or "PASSED", float(self._outcome[2])
        place = f"{self._ended}/{self._total}"
        return f"{place:>7} {word.lower():8} {seconds:5.0f} s  {self._name}"
