"""Answers written at once say what the library would say, and special ones go its way."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from winkube.apiserver.whole import WholeResponse

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def asking(handler: Handler) -> AsyncIterator[Callable[[bytes], Awaitable[bytes]]]:
    """Yields a way to send bytes and read until the server is silent or gone."""
    server = web.Server(handler, access_log=None)
    listener = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    async def ask(text: bytes) -> bytes:
        writer.write(text)
        found = b""
        while b"\r\n\r\n" not in found:
            piece = await asyncio.wait_for(reader.read(1 << 20), 5)
            if not piece:
                break
            found += piece
        return found

    try:
        yield ask
    finally:
        writer.close()
        listener.close()
        await server.shutdown(1)


def answering(**options: object) -> Handler:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = WholeResponse(body=b"{}", headers={"Content-Type": "a/b"}, **options)  # type: ignore[arg-type]
        if request.path == "/close":
            response.force_close()
        if request.path == "/warn":
            response.headers.add("Warning", '299 - "\u00e9ins"')
            response.headers.add("Warning", '299 - "zwei"')
        if request.path == "/evil":
            response.headers["X"] = "a\r\nY: b"
        return response

    return handler


async def test_one_write_says_it_all() -> None:
    async with asking(answering(status=201)) as ask:
        first = await ask(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        again = await ask(b"GET /warn HTTP/1.1\r\nHost: x\r\n\r\n")
    head, _, body = first.partition(b"\r\n\r\n")
    assert body == b"{}"
    assert head.startswith(
        b"HTTP/1.1 201 Created\r\nContent-Type: a/b\r\nContent-Length: 2\r\nDate: "
    )
    assert b"Connection:" not in head
    assert again.count(b"\r\nWarning: 299") == 2
    assert '"\u00e9ins"'.encode() in again


@pytest.mark.parametrize(
    "text",
    [
        b"GET /close HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    ],
)
async def test_a_connection_that_ends_is_told(text: bytes) -> None:
    async with asking(answering()) as ask:
        assert b"\r\nConnection: close\r\n" in await ask(text)
        assert await ask(b"") == b""


async def test_who_asks_for_the_head_gets_the_head() -> None:
    async with asking(answering()) as ask:
        found = await ask(b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"Content-Length: 2" in found
        assert found.endswith(b"\r\n\r\n")


async def test_old_clients_and_answers_without_a_body() -> None:
    async with asking(answering()) as ask:
        assert (await ask(b"GET / HTTP/1.0\r\n\r\n")).startswith(b"HTTP/1.0 200 OK\r\n")
    async with asking(answering(status=304)) as ask:
        assert (await ask(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")).endswith(b"\r\n\r\n")


async def test_no_header_brings_another() -> None:
    async with asking(answering()) as ask:
        found = await ask(b"GET /evil HTTP/1.1\r\nHost: x\r\n\r\n")
    assert b"Y: b" not in found
