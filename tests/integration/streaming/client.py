"""kubectl as a process of a test: its streams are the test's, and it does not outlive it."""

import asyncio
import os
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.integration.streaming.local_backend import read_out
from tests.integration.streaming.mini_cluster import Cluster

SECONDS = 60


@asynccontextmanager
async def started(
    kubectl: str | Path, cluster: Cluster, *args: str, **streams: Any
) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        str(kubectl),
        f"--kubeconfig={cluster.kubeconfig}",
        *args,
        env={"HOME": str(cluster.kubeconfig.parent), "PATH": os.environ["PATH"]},
        **streams,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        await read_out(process)


async def run(
    kubectl: str | Path, cluster: Cluster, *args: str, stdin: bytes = b""
) -> tuple[int, bytes, bytes]:
    async with (
        started(kubectl, cluster, *args, stdin=PIPE, stdout=PIPE, stderr=PIPE) as process,
        asyncio.timeout(SECONDS),
    ):
        out, err = await process.communicate(stdin)
        return process.returncode or 0, out, err


async def read_line(process: Process) -> bytes:
    assert process.stdout is not None
    async with asyncio.timeout(SECONDS):
        return await process.stdout.readline()


@asynccontextmanager
async def forwarding(kubectl: str | Path, cluster: Cluster, port: int) -> AsyncIterator[int]:
    """Yield the local port that leads to ``port`` of the pod."""
    argv = ("port-forward", "web", f":{port}")
    async with started(kubectl, cluster, *argv, stdout=PIPE, stderr=DEVNULL) as process:
        said = await read_line(process)
        yield int(said.split(b" -> ")[0].rsplit(b":", 1)[1])
