"""Connections against a server that behaves, and against servers that do not."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from winkube.client.connection import HIGH_BYTES, DisconnectedError
from winkube.client.pool import Pool

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    return head + await reader.readexactly(int(length or b"0"))


@asynccontextmanager
async def serving(talk: Talk) -> AsyncIterator[Pool]:
    async def guarded(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await talk(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    server = await asyncio.start_server(guarded, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    pool = Pool(f"http://127.0.0.1:{port}/base/", None)
    pool.set_headers({"Accept": "application/json"})
    async with server:
        try:
            yield pool
        finally:
            pool.close()
            await asyncio.sleep(0)


async def test_a_connection_serves_one_request_after_the_other() -> None:
    seen: list[bytes] = []
    connections = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while True:
            seen.append(await request(reader))
            writer.write(OK)

    async with serving(talk) as pool:
        first = await pool.ask("GET", "/a?b=c", None, {}, 5)
        await pool.ask("POST", "/d", b"{}", {"Accept": "other", "X-Y": "z"}, 5)
    assert (first.status, first.body) == (200, b"ok")
    assert connections == 1
    assert seen[0].startswith(b"GET /base/a?b=c HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"\r\nAccept: application/json\r\n" in seen[0]
    assert seen[1].count(b"Accept: ") == 1
    assert b"Accept: other\r\nX-Y: z\r\nContent-Length: 2\r\n\r\n{}" in seen[1]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_a_dead_idle_connection_costs_one_more_try(method: str) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request(reader)
        writer.write(OK)
        # The next request is read and left without an answer.
        await request(reader)

    async with serving(talk) as pool:
        await pool.ask("GET", "/", None, {}, 5)
        assert (await pool.ask(method, "/", None, {}, 5)).status == 200


async def test_what_must_not_happen_twice_is_not_sent_twice() -> None:
    posts = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal posts
        await request(reader)
        writer.write(OK)
        await request(reader)
        posts += 1

    async with serving(talk) as pool:
        await pool.ask("GET", "/", None, {}, 5)
        with pytest.raises(DisconnectedError):
            await pool.ask("POST", "/", b"{}", {}, 5)
    assert posts == 1


async def test_silence_is_a_timeout() -> None:
    async def talk(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await request(reader)
        await reader.read()

    async with serving(talk) as pool:
        with pytest.raises(TimeoutError, match="no answer in 0 s"):
            await pool.ask("GET", "/", None, {}, 0.05)
        with pytest.raises(TimeoutError):
            async with pool.open("/", {}, 0.05):
                pass


async def test_an_answer_given_up_is_nobody_elses() -> None:
    gone = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if b"/slow" in await request(reader):
            await reader.read()
            gone.set()
            return
        writer.write(OK)

    async with serving(talk) as pool:
        slow = asyncio.ensure_future(pool.ask("GET", "/slow", None, {}, 5))
        await asyncio.sleep(0.01)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        assert (await pool.ask("GET", "/", None, {}, 5)).body == b"ok"
        await asyncio.wait_for(gone.wait(), 5)


async def test_words_that_nobody_asked_for_end_the_connection() -> None:
    connections = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await request(reader)
        writer.write(OK)
        await writer.drain()
        await asyncio.sleep(0.01)
        writer.write(OK.replace(b"ok", b"no"))
        await request(reader)

    async with serving(talk) as pool:
        await pool.ask("GET", "/", None, {}, 5)
        await asyncio.sleep(0.05)
        assert (await pool.ask("GET", "/", None, {}, 5)).body == b"ok"
    assert connections == 2


async def test_a_long_body_arrives_and_may_be_refused_early() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert b"Content-Length: 5000000\r\n" in await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(5_000_000)
        writer.write(OK if body == b"x" * 5_000_000 else b"no")
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await reader.read()

    async with serving(talk) as pool:
        assert (await pool.ask("PUT", "/", b"x" * 5_000_000, {}, 30)).status == 200
        assert (await pool.ask("POST", "/refuse", b"x" * 50_000_000, {}, 30)).status == 413


async def test_a_connection_that_waits_for_the_rest_of_a_body_carries_nothing_else() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b" /base/large " in head:
            writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
            await reader.readexactly(50_000_000)
        writer.write(OK)
        await reader.read()

    async with serving(talk) as pool:
        assert (await pool.ask("POST", "/large", b"x" * 50_000_000, {}, 30)).status == 413
        assert (await pool.ask("POST", "/small", b"{}", {}, 30)).status == 200


async def test_a_server_that_goes_while_we_write(caplog: pytest.LogCaptureFixture) -> None:
    async def talk(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")

    async with serving(talk) as pool:
        for size in (200_000, 50_000_000):
            with pytest.raises(ConnectionError):
                await pool.ask("POST", "/", b"x" * size, {}, 30)
    gc.collect()
    assert not caplog.records


async def test_who_does_not_read_holds_the_server_up() -> None:
    sent = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(1000):
            writer.write(b"10000\r\n" + b"y" * 0x10000 + b"\r\n")
            await writer.drain()
            sent += 0x10000
        writer.write(b"0\r\n\r\n")
        await reader.read()

    async with serving(talk) as pool, pool.open("/", {}, 30) as stream:
        before = -1
        while before != sent:
            before = sent
            await asyncio.sleep(0.05)
        assert sent < 1000 * 0x10000
        assert stream.connection._queued < 2 * HIGH_BYTES
        assert await stream.body() == b"y" * (1000 * 0x10000)


async def test_a_stream_cut_off_raises() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")

    async with serving(talk) as pool, pool.open("/", {}, 5) as stream:
        pieces = aiter(stream)
        assert await anext(pieces) == b"abc"
        with pytest.raises(ConnectionError, match="before the answer did"):
            await anext(pieces)


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "\u00e9"])
def test_headers_carry_no_headers(value: str) -> None:
    with pytest.raises(ValueError, match="header Authorization"):
        Pool("https://127.0.0.1:1", None).set_headers({"Authorization": value})
