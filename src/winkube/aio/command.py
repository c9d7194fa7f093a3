"""Child processes: argument lists only, never a shell."""

import asyncio
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from winkube.base.errors import WinkubeError


class CommandError(WinkubeError):
    """A program we called failed; carries what it said."""

    def __init__(self, argv: Sequence[str], code: int, output: str) -> None:
        tail = output.strip()[-2000:]
        super().__init__(f"{Path(argv[0]).name} failed with code {code}: {tail or 'no output'}")
        self.argv, self.code, self.output = tuple(argv), code, output


async def run(
    argv: Sequence[str],
    *,
    stdin: bytes | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float | None = None,
) -> bytes:
    """Run to the end and return standard output; a non-zero exit raises with both streams."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=None if env is None else dict(env),
        cwd=cwd,
    )
    try:
        async with asyncio.timeout(timeout):
            out, err = await process.communicate(stdin)
    except BaseException:
        if process.returncode is None:
            process.kill()
            await process.wait()
        raise
    if process.returncode != 0:
        text = (err + out).decode(errors="replace")
        raise CommandError(argv, process.returncode or 0, text)
    return out
