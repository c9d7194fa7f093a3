import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from winkube.api.errors import (
    ConflictError,
    InternalError,
    NotFoundError,
    TooManyRequestsError,
    UnavailableError,
)
from winkube.client.config import ClientConfig
from winkube.client.errors import ClientError, TransportError
from winkube.client.resource import NODES, PODS
from winkube.client.rest import ApiClient, PatchType
from winkube.testing.http_server import Handler, http_server


@asynccontextmanager
async def serving(handler: Handler, token: str | None = None) -> AsyncIterator[ApiClient]:
    async with (
        http_server(handler) as url,
        ApiClient(ClientConfig(url, token=token)) as client,
    ):
        yield client


def answering(status: int, body: object, **headers: str) -> Handler:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        return web.json_response(body, status=status, headers=headers)

    return handler


def failure(code: int, reason: str) -> dict[str, object]:
    return {"kind": "Status", "code": code, "reason": reason, "message": f"it is {reason}"}


@pytest.mark.parametrize(
    ("code", "reason", "error"),
    [(404, "NotFound", NotFoundError), (409, "Conflict", ConflictError)],
)
async def test_status_becomes_its_error(code: int, reason: str, error: type[Exception]) -> None:
    async with serving(answering(code, failure(code, reason))) as client:
        with pytest.raises(error, match=f"it is {reason}"):
            await client.get(NODES, "n")


async def test_answer_that_is_no_status_keeps_its_words() -> None:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=503, text="upstream is away")

    async with serving(handler) as client:
        with pytest.raises(UnavailableError, match="upstream is away"):
            await client.get(NODES, "n")


async def test_answer_that_is_not_json_is_a_transport_error() -> None:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(text="<html>")

    async with serving(handler) as client:
        with pytest.raises(TransportError, match="not JSON"):
            await client.get(NODES, "n")


async def test_nobody_listening_is_a_transport_error() -> None:
    async with ApiClient(ClientConfig("http://127.0.0.1:9")) as client:
        with pytest.raises(TransportError):
            await client.get(NODES, "n")


async def test_client_has_to_be_opened() -> None:
    with pytest.raises(ClientError, match="not open"):
        await ApiClient(ClientConfig("http://127.0.0.1:9")).get(NODES, "n")


async def test_throttled_request_is_repeated_a_few_times() -> None:
    calls = 0

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal calls
        calls += 1
        if calls < 3:
            busy = failure(429, "TooManyRequests")
            return web.json_response(busy, status=429, headers={"Retry-After": "0"})
        return web.json_response({"metadata": {"name": "n"}})

    async with serving(handler) as client:
        assert (await client.get(NODES, "n"))["metadata"]["name"] == "n"
    assert calls == 3
    busy = answering(429, failure(429, "TooManyRequests"), **{"Retry-After": "0"})
    async with serving(busy) as client:
        with pytest.raises(TooManyRequestsError):
            await client.get(NODES, "n")


async def test_requests_say_what_the_api_expects() -> None:
    seen: list[tuple[str, str, str | None, str | None]] = []

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        headers = request.headers
        kind = headers.get("Content-Type") if request.method != "GET" else None
        seen.append((request.method, request.path_qs, kind, headers.get("Authorization")))
        return web.json_response({})

    async with serving(handler, token="secret") as client:
        await client.get(PODS, "p", namespace="a/../b")
        await client.list(PODS, label_selector="a=b", limit=5)
        await client.patch(PODS, "p", {}, namespace="d", patch_type=PatchType.STRATEGIC)
        pod = {"metadata": {"name": "p", "namespace": "d"}}
        await client.update(PODS, pod, subresource="status")
        await client.create(PODS, {}, namespace="d", name="p", subresource="binding")
        await client.delete(NODES, "n", options={"gracePeriodSeconds": 0})
    assert [each[:3] for each in seen] == [
        ("GET", "/api/v1/namespaces/a%2F..%2Fb/pods/p", None),
        ("GET", "/api/v1/pods?labelSelector=a%3Db&limit=5", None),
        ("PATCH", "/api/v1/namespaces/d/pods/p", PatchType.STRATEGIC.value),
        ("PUT", "/api/v1/namespaces/d/pods/p/status", "application/json"),
        ("POST", "/api/v1/namespaces/d/pods/p/binding", "application/json"),
        ("DELETE", "/api/v1/nodes/n", "application/json"),
    ]
    assert {each[3] for each in seen} == {"Bearer secret"}


async def test_watch_that_breaks_off_is_a_transport_error_and_can_be_opened_again() -> None:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b'{"type":"ADDED","object":{"n":1}}\n{"type":"ADD')
        assert request.transport is not None
        request.transport.close()
        return response

    seen = []
    async with serving(handler) as client:
        with pytest.raises(TransportError):
            async with client.watch(PODS, resource_version="1") as events:
                seen += [event.object["n"] async for event in events]
        assert seen == []
        async with client.watch(PODS, resource_version="1") as events:
            assert (await anext(aiter(events))).object == {"n": 1}


async def test_abandoned_watch_closes_its_connection() -> None:
    closed = asyncio.Event()

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b'{"type":"ADDED","object":{}}\n')
        try:
            while True:
                await response.write(b"\n")
                await asyncio.sleep(0.01)
        finally:
            closed.set()

    async with serving(handler) as client:
        async with client.watch(PODS, resource_version="1") as events:
            await anext(aiter(events))
        await asyncio.wait_for(closed.wait(), 5)


async def test_watch_refused_raises_the_servers_error() -> None:
    async with serving(answering(500, failure(500, "InternalError"))) as client:
        with pytest.raises(InternalError):
            async with client.watch(PODS, resource_version="1"):
                pass


async def test_a_new_token_is_sent_from_then_on() -> None:
    seen: list[str | None] = []

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        seen.append(request.headers.get("Authorization"))
        return web.json_response({})

    async with serving(handler, token="old") as client:
        await client.get(NODES, "n")
        client.use_token("new")
        await client.get(NODES, "n")
    assert seen == ["Bearer old", "Bearer new"]


async def test_what_a_collection_held_is_not_read_when_it_is_deleted() -> None:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(text="as much as you like")

    async with serving(handler) as client:
        await client.delete_collection(PODS, namespace="default")
    async with serving(answering(404, failure(404, "NotFound"))) as client:
        with pytest.raises(NotFoundError):
            await client.delete_collection(PODS, namespace="default")
