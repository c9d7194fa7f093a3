"""Exec, attach and port-forward: ask the runtime for a URL and splice the client to it.

The kubelet does not look into the session: SPDY or WebSocket, the runtime's streaming server is
the one that speaks it.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

import yarl
from aiohttp import web

from winkube.api.go.number import NumberError, parse_uint
from winkube.kubelet.server.view import ContainerState, NodeView
from winkube.wire import cri
from winkube.wire.cri_client import CriError
from winkube.wire.remotecommand import StreamRequestError, Wanted, parse_protocols
from winkube.wire.upgrade import Header, Upgraded, UpgradeError, request_upgrade, splice, take_over

RUN_SECONDS: Final = 120
END_POLL_SECONDS: Final = 0.5
END_GRACE_SECONDS: Final = 1.0
_FORWARDED: Final = (
    "connection",
    "upgrade",
    "x-stream-protocol-version",
    "sec-websocket-key",
    "sec-websocket-version",
    "sec-websocket-protocol",
    "sec-websocket-accept",
)


class StreamHandler:
    def __init__(self, view: NodeView) -> None:
        self._view = view

    def add_routes(self, router: web.UrlDispatcher) -> None:
        container = "/{namespace}/{pod}/{container}", "/{namespace}/{pod}/{uid}/{container}"
        for method in ("GET", "POST"):
            for tail in container:
                router.add_route(method, f"/exec{tail}", self.exec)
                router.add_route(method, f"/attach{tail}", self.attach)
            for tail in ("/{namespace}/{pod}", "/{namespace}/{pod}/{uid}"):
                router.add_route(method, f"/portForward{tail}", self.portforward)
        for tail in container:
            router.add_post(f"/run{tail}", self.run)

    async def exec(self, request: web.Request) -> web.StreamResponse:
        wanted = _wanted(request)
        command = request.query.getall("command", [])
        if not command:
            raise web.HTTPBadRequest(text="you must specify at least 1 command")
        asked = cri.ExecRequest(
            container_id=self._running(request),
            cmd=command,
            stdin=wanted.stdin,
            stdout=wanted.stdout,
            stderr=wanted.stderr,
            tty=wanted.tty,
        )
        return await self._relay(request, "Exec", asked)

    async def attach(self, request: web.Request) -> web.StreamResponse:
        wanted = _wanted(request)
        asked = cri.AttachRequest(
            container_id=self._running(request),
            stdin=wanted.stdin,
            stdout=wanted.stdout,
            stderr=wanted.stderr,
            tty=wanted.tty,
        )
        return await self._relay(request, "Attach", asked, until=self._ended(request))

    async def portforward(self, request: web.Request) -> web.StreamResponse:
        namespace, pod = request.match_info["namespace"], request.match_info["pod"]
        sandbox = self._view.sandbox_id(namespace, pod)
        if sandbox is None:
            raise web.HTTPNotFound(text="pod does not exist")
        asked_for = parse_protocols(request.query.getall("port", ()))
        try:
            ports = [parse_uint(text, 16) for text in asked_for]
        except NumberError as error:
            raise web.HTTPBadRequest(text=f"invalid port: {error}") from error
        asked = cri.PortForwardRequest(pod_sandbox_id=sandbox, port=ports)
        return await self._relay(request, "PortForward", asked)

    async def run(self, request: web.Request) -> web.Response:
        """The kubelet's oldest way to run a command: no streams, the output is the body."""
        form = await request.post()
        text = str(form.get("cmd") or request.query.get("cmd", ""))
        if not text:
            raise web.HTTPBadRequest(text="you must specify a command")
        asked = cri.ExecSyncRequest(
            container_id=self._running(request), cmd=text.split(" "), timeout=RUN_SECONDS
        )
        answer = await self._call("ExecSync", asked)
        return web.Response(body=answer.stdout + answer.stderr, content_type="text/plain")

    async def _relay(
        self,
        request: web.Request,
        method: str,
        asked: Any,
        *,
        until: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> web.StreamResponse:
        """Join the client to the runtime's session; ``until`` ends it from our side."""
        if "upgrade" not in request.headers.get("Connection", "").lower():
            raise web.HTTPBadRequest(text="Upgrade request required")
        url = yarl.URL((await self._call(method, asked)).url, encoded=True)
        try:
            answer = await request_upgrade(
                url, _forwarded(request.headers.items()), method=request.method
            )
        except UpgradeError as error:
            raise web.HTTPInternalServerError(text=f"error dialing backend: {error}") from error
        if answer.duplex is None:
            return answer.to_response()
        try:
            async with (
                take_over(request, _forwarded(answer.headers)) as client,
                asyncio.TaskGroup() as group,
            ):
                tasks = [group.create_task(splice(client, answer.duplex), name="splice")]
                if until is not None:
                    tasks.append(group.create_task(until(), name="until the container ends"))
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in tasks:
                    task.cancel()
        finally:
            answer.duplex.close()
        return Upgraded()

    async def _call(self, method: str, asked: Any) -> Any:
        try:
            return await self._view.cri.call(method, asked)
        except CriError as error:
            raise web.HTTPInternalServerError(text=str(error)) from error

    def _ended(self, request: web.Request) -> Callable[[], Coroutine[Any, Any, None]]:
        """A wait for the container's end and the last of its output.

        containerd never ends an attach that met the container's end half-way.
        """
        names = [request.match_info[key] for key in ("namespace", "pod", "container")]

        async def wait() -> None:
            # The view is a table in memory; who follows a log polls it in the same way.
            while self._view.container_state(*names) is ContainerState.RUNNING:  # noqa: ASYNC110
                await asyncio.sleep(END_POLL_SECONDS)
            await asyncio.sleep(END_GRACE_SECONDS)

        return wait

    def _running(self, request: web.Request) -> str:
        """The container's id, if there is one that can be talked to."""
        names = [request.match_info[key] for key in ("namespace", "pod", "container")]
        state = self._view.container_state(*names)
        found = self._view.container_id(*names)
        if found is None or state is not ContainerState.RUNNING:
            raise web.HTTPNotFound(text=f'container not found ("{names[2]}")')
        return found


def _wanted(request: web.Request) -> Wanted:
    try:
        return Wanted.from_query(request.query)
    except StreamRequestError as error:
        raise web.HTTPBadRequest(text=str(error)) from error


def _forwarded(headers: Any) -> list[Header]:
    return [(key, value) for key, value in headers if key.lower() in _FORWARDED]
