"""Run the whole suite: ``python -m tests.second_try tests/unit tests/integration ...``.

A machine that does other work lets some clocks run out, so a few tests that failed get a second
try by themselves. It may not hide what is broken: there is none for unit tests, which have no
clocks, none when many failed, and none when the run itself broke. What passed only then is named.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
_CACHE: Final = ROOT / ".pytest_cache" / "v" / "cache" / "lastfailed"
_CLOCKLESS: Final = "tests/unit/"
_MANY: Final = 10


def refusal(code: int, failed: Sequence[str]) -> str | None:
    """Why there is no second try after a run that ended with ``code``, or None."""
    if code != pytest.ExitCode.TESTS_FAILED or not failed:
        return f"the run itself failed ({code})"
    if firm := [name for name in failed if name.startswith(_CLOCKLESS)]:
        return f"no clock can have run out in {', '.join(firm)}"
    if len(failed) > _MANY:
        return f"{len(failed)} tests failed"
    return None


def main(folders: Sequence[str]) -> int:
    # What an earlier run left there would be tried instead if this one is killed.
    shutil.rmtree(_CACHE.parent, ignore_errors=True)
    code = _pytest(folders)
    if code == pytest.ExitCode.OK:
        return code
    failed = sorted(json.loads(_CACHE.read_text())) if _CACHE.exists() else []
    if reason := refusal(code, failed):
        print(f"no second try: {reason}")
        return code
    print("once more, those that failed:")
    code = _pytest(failed)
    if code == pytest.ExitCode.OK:
        print("passed only on the second try:", *failed, sep="\n  ")
    return code


def _pytest(args: Sequence[str]) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", "-q", *args], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
