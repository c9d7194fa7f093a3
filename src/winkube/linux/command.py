"""Run a small system program to its end, synchronously: argument lists only, never a shell."""

import subprocess
from collections.abc import Sequence

from winkube.aio.command import CommandError


def run(argv: Sequence[str], *, stdin: str = "") -> str:
    """Return standard output; a non-zero exit raises with both streams."""
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CommandError(argv, done.returncode, done.stderr + done.stdout)
    return done.stdout
