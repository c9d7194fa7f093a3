"""What a server answers to an upgrade is bounded, whatever it says about its length."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import yarl

from winkube.wire.upgrade import MAX_BODY, UpgradeError, request_upgrade

HEAD = b"HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n"


@asynccontextmanager
async def answering(first: bytes, *, more: bytes = b"") -> AsyncIterator[yarl.URL]:
    """A server that says this, and then ``more`` without end."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(HEAD + first)
            while more:
                writer.write(more)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield yarl.URL(f"http://127.0.0.1:{port}/")


async def test_a_chunk_without_end_is_cut() -> None:
    async with answering(b"ffffffffff\r\n", more=b"x" * 65536) as url:
        answer = await request_upgrade(url, [])
    assert (answer.status, len(answer.body)) == (403, MAX_BODY)


async def test_chunks_without_end_are_cut() -> None:
    async with answering(b"", more=b"1000\r\n" + b"x" * 4096 + b"\r\n") as url:
        answer = await request_upgrade(url, [])
    assert (answer.status, len(answer.body)) == (403, MAX_BODY)


async def test_chunks_are_joined() -> None:
    async with answering(b"3\r\nabc\r\n2;a=b\r\nde\r\n0\r\n\r\n") as url:
        answer = await request_upgrade(url, [])
    assert answer.body == b"abcde"


@pytest.mark.parametrize("size", [b"-5", b"", b"0x5", b"1_0", b"+5"])
async def test_a_chunk_of_no_length_is_no_answer(size: bytes) -> None:
    async with answering(size + b"\r\nabcde\r\n0\r\n\r\n") as url:
        with pytest.raises(UpgradeError, match="no length"):
            await request_upgrade(url, [])
