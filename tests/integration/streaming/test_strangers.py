"""The kubelet's port is open to every pod: who shows nothing keeps nothing."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.integration.streaming.authority import Authority
from tests.integration.streaming.local_backend import LOOPBACK
from tests.integration.streaming.mini_cluster import FakeView, KubeletSettings

from winkube.kubelet.server.app import KubeletServer
from winkube.testing.tasks import running
from winkube.wire.patience import Patience

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
def authority(tmp_path: Path, make_authority: Callable[[Path], Authority]) -> Authority:
    return make_authority(tmp_path / "pki")


@asynccontextmanager
async def stranger(authority: Authority, folder: Path, *, seconds: float) -> AsyncIterator[Stream]:
    """A connection without a certificate to a kubelet that waits so long for a request."""
    cert, key = authority.issue("server")
    settings = KubeletSettings(cert, key, authority.ca_file)
    view = FakeView(None, folder / "0.log")
    kubelet = KubeletServer(settings, view, patience=Patience(seconds=seconds))
    context = ssl.create_default_context(cafile=str(authority.ca_file))
    async with running(kubelet.run()):
        await kubelet.ready.wait()
        reader, writer = await asyncio.open_connection(LOOPBACK, kubelet.port, ssl=context)
        try:
            yield reader, writer
        finally:
            writer.close()


@pytest.mark.parametrize("said", [b"", b"GET /pods HTTP/1.1\r\nX: "], ids=["nothing", "half"])
async def test_a_connection_without_a_request_is_ended(
    authority: Authority, tmp_path: Path, said: bytes
) -> None:
    async with stranger(authority, tmp_path, seconds=0.05) as (reader, writer):
        writer.write(said)
        try:
            assert await reader.read() == b""
        except ConnectionError:
            return


async def test_the_anonymous_are_refused_and_hung_up_on(
    authority: Authority, tmp_path: Path
) -> None:
    async with stranger(authority, tmp_path, seconds=60) as (reader, writer):
        writer.write(b"GET /pods HTTP/1.1\r\nHost: kubelet\r\n\r\n")
        answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 401 Unauthorized\r\n")


async def test_nonsense_fills_no_log(
    authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        async with stranger(authority, tmp_path, seconds=60) as (reader, writer):
            writer.write(b"GET /pods HTTP/1.1\r\nX: " + b"x" * 100_000 + b"\r\n\r\n")
            assert b" 400 " in await reader.readline()
    assert "Error handling request" not in caplog.text
