"""Connections that say nothing are ended; those that ask are kept."""

import asyncio

from aiohttp import web

from winkube.apiserver.patience import Patience


async def test_only_a_connection_that_asks_is_kept() -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        await asyncio.sleep(0.3)  # longer than anybody may be silent
        return web.Response(text="ok")

    patience = Patience(answer, seconds=0.1)
    server = web.Server(patience.handle)
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(lambda: patience.accept(server()), "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    try:
        asks, slow, silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        asks[1].write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        slow[1].write(b"GET / HTTP/1.1\r\nHost: x\r\n")
        async with asyncio.timeout(5):
            for reader, _ in (slow, silent):
                assert await _rest(reader) == b""
            assert await asks[0].readline() == b"HTTP/1.1 200 OK\r\n"
        for _, writer in (asks, slow, silent):
            writer.close()
    finally:
        listener.close()
        await server.shutdown(0.1)


async def _rest(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionError:
        return b""
