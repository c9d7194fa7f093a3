"""An answer that is written at once: head and body together, without the library's steps.

Nearly every answer is small and complete before its first byte is sent. Whatever is special about
a request or an answer goes the library's way.
"""

from http import HTTPMethod, HTTPStatus
from typing import Final

from aiohttp import HttpVersion11, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.helpers import rfc822_formatted_time

_WITHOUT_BODY: Final = frozenset((HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED))


class WholeResponse(web.Response):
    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        body = self.body
        if self.prepared or not isinstance(body, bytes) or not _is_plain(request, self.status):
            return await super().prepare(request)
        if self._keep_alive is None:
            self._keep_alive = request.keep_alive
        head = self._head(len(body))
        transport = request.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the client is gone")
        transport.write(head + body)
        self._eof_sent = True
        await request.writer.drain()
        return None

    def _head(self, length: int) -> bytes:
        lines = [f"HTTP/1.1 {self.status} {self.reason}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        lines += [f"Content-Length: {length}", f"Date: {rfc822_formatted_time()}"]
        if not self._keep_alive:
            lines.append("Connection: close")
        text = "\r\n".join([*lines, "", ""])
        if text.count("\n") != len(lines) + 1 or text.count("\r") != len(lines) + 1:
            raise ValueError("a header has a line end in it")
        return text.encode()


def _is_plain(request: web.BaseRequest, status: int) -> bool:
    return (
        request.version == HttpVersion11
        and request.method != HTTPMethod.HEAD
        and status not in _WITHOUT_BODY
    )
