"""Child processes."""

import sys

import pytest

from winkube.aio.command import CommandError, run


async def test_output_and_input_pass_through() -> None:
    code = "import sys; print(sys.stdin.read().upper(), end='')"
    assert await run([sys.executable, "-c", code], stdin=b"abc") == b"ABC"


async def test_a_failure_carries_what_the_program_said() -> None:
    with pytest.raises(CommandError, match="code 3: no such luck"):
        await run(
            [
                sys.executable,
                "-c",
                "import sys; print('no such luck', file=sys.stderr); sys.exit(3)",
            ]
        )


async def test_a_timeout_ends_the_program() -> None:
    with pytest.raises(TimeoutError):
        await run([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.2)
