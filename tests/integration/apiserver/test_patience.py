"""Connections that say nothing are ended; those that ask are kept."""

import asyncio
import contextlib

from aiohttp import web

from winkube.wire.patience import Patience

SECONDS = 0.5


async def test_only_a_connection_that_asks_is_kept() -> None:
    patience = Patience(seconds=SECONDS)

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        patience.heard(request)
        await asyncio.sleep(3 * SECONDS)  # longer than anybody may be silent
        return web.Response(text="ok")

    server = web.Server(answer)
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(lambda: patience.accept(server()), "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    writers: list[asyncio.StreamWriter] = []

    async def say(text: bytes) -> asyncio.StreamReader:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writers.append(writer)
        writer.write(text)
        return reader

    try:
        asks = await say(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        slow = await say(b"GET / HTTP/1.1\r\nHost: x\r\n")
        silent = await say(b"")
        async with asyncio.timeout(20):
            for reader in (slow, silent):
                assert await _rest(reader) == b""
            assert await asks.readline() == b"HTTP/1.1 200 OK\r\n"
    finally:
        for writer in writers:
            writer.close()
            # Those the server ended say so once more.
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
        await server.shutdown(0.1)
        listener.close()
        await listener.wait_closed()


async def _rest(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionError:
        return b""
