"""One HTTP/1.1 response, read as its bytes arrive (RFC 9112).

Knows nothing of connections: bytes in, pieces of the body out. What is not a response raises.
"""

from typing import Final

HEAD_LIMIT: Final = 64 * 1024
LINE_LIMIT: Final = 4 * 1024
_WITHOUT_BODY: Final = frozenset((204, 304))
_INFORMATIONAL: Final = range(100, 200)


class BrokenResponseError(ConnectionError):
    """The server answered something else than HTTP, or not to the end."""


class Response:
    """``status`` is 0 until the head has been read; ``done`` says that the body has ended."""

    __slots__ = ("_chunked", "_gap", "_left", "_rest", "_trailers", "done", "headers", "status")

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.done = False
        self._rest = b""
        self._chunked = False
        # Of the body or of the chunk; None: until the connection ends.
        self._left: int | None = 0
        # Of the line end behind a chunk.
        self._gap = 0
        self._trailers = False

    @property
    def reusable(self) -> bool:
        """The connection can carry another request after this."""
        return (
            self.done
            and self._left is not None
            and not self._rest
            and "close" not in self.headers.get("connection", "").lower()
        )

    def feed(self, data: bytes) -> list[bytes]:
        """The pieces of the body that these bytes hold."""
        if self._rest:
            data = self._rest + data
            self._rest = b""
        while not self.status:
            end = data.find(b"\r\n\r\n")
            if end < 0:
                self._keep(data, HEAD_LIMIT)
                return []
            self._begin(data[:end])
            data = data[end + 4 :]
        if self._chunked:
            return self._chunks(data)
        return self._plain(data)

    def end(self) -> None:
        """The connection has ended: fine only where nothing else says how long the body is."""
        if self._left is not None or not self.status:
            raise BrokenResponseError("the connection ended before the answer did")
        self.done = True

    def _begin(self, head: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        version, _, rest = first.partition(" ")
        if version not in ("HTTP/1.1", "HTTP/1.0") or not rest[:3].isdecimal():
            raise BrokenResponseError(f"not an HTTP answer: {first[:80]!r}")
        status = int(rest[:3])
        if status in _INFORMATIONAL:
            return
        self.status = status
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon:
                raise BrokenResponseError(f"not a header: {line[:80]!r}")
            self.headers[name.lower()] = value.strip()
        if version == "HTTP/1.0":
            self.headers.setdefault("connection", "close")
        self._measure()

    def _measure(self) -> None:
        length = self.headers.get("content-length")
        if self.status in _WITHOUT_BODY:
            self.done = True
        elif self.headers.get("transfer-encoding", "").lower() == "chunked":
            self._chunked = True
        elif length is None:
            self._left = None
        elif length.isdecimal():
            self._left = int(length)
            self.done = not self._left
        else:
            raise BrokenResponseError(f"not a length: {length[:80]!r}")

    def _plain(self, data: bytes) -> list[bytes]:
        if self._left is not None:
            # Nobody asked for what comes behind the body.
            self._rest = data[self._left :]
            data = data[: self._left]
            self._left -= len(data)
            self.done = not self._left
        return [data] if data else []

    def _chunks(self, data: bytes) -> list[bytes]:
        pieces: list[bytes] = []
        at, size = 0, len(data)
        while at < size and not self.done:
            if self._left:
                piece = data[at : at + self._left]
                pieces.append(piece)
                at += len(piece)
                self._left -= len(piece)
                self._gap = 0 if self._left else 2
            elif self._gap:
                step = min(self._gap, size - at)
                if data[at : at + step] != b"\r\n"[2 - self._gap :][:step]:
                    raise BrokenResponseError("a chunk is longer than it says")
                at += step
                self._gap -= step
            else:
                end = data.find(b"\r\n", at)
                if end < 0:
                    self._keep(data[at:], LINE_LIMIT)
                    return pieces
                self._line(data[at:end])
                at = end + 2
        self._rest = data[at:]
        return pieces

    def _line(self, line: bytes) -> None:
        """The size before a chunk, or one of the lines behind the last."""
        if self._trailers:
            self.done = not line
            return
        digits = line.partition(b";")[0].strip()
        if not digits.isalnum():
            raise BrokenResponseError(f"not the size of a chunk: {line[:80]!r}")
        try:
            self._left = int(digits, 16)
        except ValueError as error:
            raise BrokenResponseError(f"not the size of a chunk: {line[:80]!r}") from error
        self._trailers = not self._left

    def _keep(self, data: bytes, limit: int) -> None:
        if len(data) > limit:
            raise BrokenResponseError("a header without end")
        self._rest = data
