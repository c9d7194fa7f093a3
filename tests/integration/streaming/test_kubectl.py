"""kubectl, old (SPDY) and new (WebSocket), through the whole chain."""

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest


def _find(version: str) -> str:
    """A kubectl of this version: on the PATH, or beside the one that is."""
    beside = Path(shutil.which("kubectl") or "kubectl").resolve().with_name(f"kubectl.{version}")
    return shutil.which(f"kubectl.{version}") or (str(beside) if beside.exists() else "")


KUBECTLS = [
    pytest.param(
        _find(version),
        id=version,
        marks=pytest.mark.skipif(not _find(version), reason=f"kubectl {version} is not here"),
    )
    for version in ("1.28", "1.33")
]
each_kubectl = pytest.mark.parametrize("kubectl", KUBECTLS)


async def run(
    kubectl: str, cluster: Any, *args: str, stdin: bytes = b""
) -> tuple[int, bytes, bytes]:
    process = await asyncio.create_subprocess_exec(
        kubectl,
        f"--kubeconfig={cluster.kubeconfig}",
        *args,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"HOME": str(cluster.kubeconfig.parent), "PATH": os.environ["PATH"]},
    )
    try:
        async with asyncio.timeout(60):
            out, err = await process.communicate(stdin)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, out, err


@each_kubectl
async def test_exec_gives_both_outputs_and_the_exit_code(kubectl: str, cluster: Any) -> None:
    code, out, err = await run(
        kubectl, cluster, "exec", "web", "--", "sh", "-c", "echo to-out; echo to-err >&2; exit 3"
    )
    assert (code, out) == (3, b"to-out\n")
    assert b"to-err" in err
    assert b"exit code 3" in err
