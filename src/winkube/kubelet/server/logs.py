"""GET /containerLogs: a container's log, from where the client wants it, and on as it grows."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aiohttp import web

from winkube.api.go.number import NumberError, parse_uint
from winkube.base.clock import Clock, parse_rfc3339
from winkube.kubelet.server.logfile import LogFile, LogOptions
from winkube.kubelet.server.view import ContainerState, NodeView

POLL_SECONDS: Final = 0.1
# The most common reasons to wait, in words (kubernetes: pkg/kubelet/kubelet_pods.go).
_PULL_TROUBLE: Final = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}


@dataclass(frozen=True, slots=True)
class LogRequest:
    namespace: str
    pod: str
    container: str
    follow: bool
    previous: bool
    limit_bytes: int | None
    options: LogOptions

    @property
    def names(self) -> tuple[str, str, str]:
        return self.namespace, self.pod, self.container


class LogHandler:
    def __init__(self, view: NodeView, clock: Clock) -> None:
        self._view, self._clock = view, clock

    async def serve(self, request: web.Request) -> web.StreamResponse:
        wanted = parse_log_request(request, now=self._clock.now())
        path = self._find(wanted)
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        with LogFile(path, wanted.options) as log:
            await self._send(response, log, wanted)
        await response.write_eof()
        return response

    async def _send(self, response: web.StreamResponse, log: LogFile, wanted: LogRequest) -> None:
        followed = self._view.container_id(*wanted.names)
        left, ended = wanted.limit_bytes, not wanted.follow or wanted.previous
        while True:
            batch = await asyncio.to_thread(log.read_batch)
            if batch is not None:
                if left is not None:
                    batch = batch[:left]
                    left -= len(batch)
                if batch:
                    await response.write(batch)
                if left == 0:
                    return
            elif wanted.follow and await asyncio.to_thread(log.follow_rotation):
                continue
            elif ended:
                return
            elif self._has_ended(wanted, followed):
                ended = True  # and once more to the end: its last words
            else:
                await self._quiet(log, wanted, followed)

    async def _quiet(self, log: LogFile, wanted: LogRequest, followed: str | None) -> None:
        """Wait for something to read, or the end; hundreds may wait, and each only looks."""
        await asyncio.sleep(POLL_SECONDS)
        # Nobody tells us of a line: the runtime writes the file.
        while log.is_still() and not self._has_ended(wanted, followed):  # noqa: ASYNC110
            await asyncio.sleep(POLL_SECONDS)

    def _has_ended(self, wanted: LogRequest, followed: str | None) -> bool:
        state = self._view.container_state(*wanted.names)
        return (
            state in (None, ContainerState.TERMINATED)
            or self._view.container_id(*wanted.names) != followed
        )

    def _find(self, wanted: LogRequest) -> Path:
        state = self._view.container_state(*wanted.names)
        if state is None:
            raise web.HTTPNotFound(
                text=f'container "{wanted.container}" not found in pod "{wanted.pod}"'
            )
        path = self._view.log_path(*wanted.names, wanted.previous)
        if path is not None:
            return path
        if wanted.previous:
            raise web.HTTPBadRequest(
                text=f'previous terminated container "{wanted.container}" '
                f'in pod "{wanted.pod}" not found'
            )
        raise web.HTTPBadRequest(
            text=f'container "{wanted.container}" in pod "{wanted.pod}" '
            f"is waiting to start: {self._waiting_reason(wanted)}"
        )

    def _waiting_reason(self, wanted: LogRequest) -> str:
        """Why the container is not there yet, as its status has it."""
        for pod in self._view.pods().get("items") or []:
            meta, status = pod.get("metadata", {}), pod.get("status", {})
            if (meta.get("namespace"), meta.get("name")) != (wanted.namespace, wanted.pod):
                continue
            for key in ("containerStatuses", "initContainerStatuses"):
                for entry in status.get(key) or []:
                    waiting = (entry.get("state") or {}).get("waiting") or {}
                    if entry.get("name") == wanted.container and waiting.get("reason"):
                        reason = str(waiting["reason"])
                        return _PULL_TROUBLE.get(reason, reason)
        return "ContainerCreating"


def parse_log_request(request: web.Request, *, now: float) -> LogRequest:
    """Read PodLogOptions from the query; what cannot be meant is a 400."""
    query, info = request.query, request.match_info
    since_seconds, since_time = _integer(query, "sinceSeconds", 1), query.get("sinceTime")
    if since_seconds is not None and since_time:
        raise web.HTTPBadRequest(text="at most one of sinceTime or sinceSeconds may be specified")
    since = now - since_seconds if since_seconds is not None else None
    if since_time:
        try:
            since = parse_rfc3339(since_time)
        except ValueError as error:
            raise web.HTTPBadRequest(text=f"sinceTime {since_time!r} is not RFC 3339") from error
    return LogRequest(
        info["namespace"],
        info["pod"],
        info["container"],
        follow=_flag(query, "follow"),
        previous=_flag(query, "previous"),
        limit_bytes=_integer(query, "limitBytes", 1),
        options=LogOptions(_flag(query, "timestamps"), _integer(query, "tailLines", 0), since),
    )


def _flag(query: Mapping[str, str], key: str) -> bool:
    return query.get(key, "").lower() in ("1", "true")


def _integer(query: Mapping[str, str], key: str, least: int) -> int | None:
    text = query.get(key, "")
    if not text:
        return None
    try:
        number = parse_uint(text, 63)
    except NumberError:
        number = -1
    if number < least:
        raise web.HTTPBadRequest(text=f"{key}: must be greater than or equal to {least}")
    return number
