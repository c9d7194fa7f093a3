"""The plain client: one Unix socket, one request at a time. Used by the CNI programs.

Writes its own HTTP: importing http.client costs more than the whole conversation.
"""

import contextlib
import json
import socket
from typing import TYPE_CHECKING, Any

from winkube.hns import protocol
from winkube.hns.errors import HnsError, HnsUnavailableError
from winkube.hns.protocol import Json

if TYPE_CHECKING:
    from pathlib import Path

_TIMEOUT = 60.0


class HnsClient:
    def __init__(self, socket_path: "Path | str") -> None:
        self._path = str(socket_path)
        self._connection: socket.socket | None = None

    def __enter__(self) -> "HnsClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def v1(self, method: str, path: str, body: Json | None = None) -> Any:
        """One HNSCall; the Output, or HnsError."""
        return protocol.parse_v1(self._request(method, path, body)[1])

    def create(self, kind: str, document: Json, guid: str | None = None) -> Json:
        result: Json = self._call(kind, "create", protocol.create_body(document, guid))
        return result

    def query(self, kind: str, guid: str) -> Json:
        result: Json = self._call(kind, "query", {"Id": guid})
        return result

    def enumerate(self, kind: str, filters: Json | None = None) -> list[str]:
        result: list[str] = self._call(kind, "enumerate", protocol.query_body(filters))
        return result

    def list(self, kind: str, filters: Json | None = None) -> list[Json]:
        result: list[Json] = self._call(kind, "list", protocol.query_body(filters))
        return result

    def modify(self, kind: str, guid: str, request: Json) -> Json:
        result: Json = self._call(kind, "modify", {"Id": guid, "Settings": request})
        return result

    def delete(self, kind: str, guid: str) -> None:
        """Remove the object; an absent one is not an error."""
        try:
            self._call(kind, "delete", {"Id": guid})
        except HnsError as error:
            if not error.is_not_found:
                raise

    def _call(self, kind: str, verb: str, body: Json) -> Any:
        status, raw = self._request("POST", f"/hcn/{kind}/{verb}", body)
        return protocol.parse_v2(kind, verb, status, raw)

    def _request(self, method: str, path: str, body: Json | None) -> tuple[int, bytes]:
        payload = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: hns\r\nContent-Length: {len(payload)}\r\n\r\n"
        try:
            return self._exchange(head.encode() + payload)
        except OSError as error:
            self.close()
            raise HnsUnavailableError(self._path, error.strerror or str(error)) from error

    def _exchange(self, request: bytes) -> tuple[int, bytes]:
        if self._connection is None:
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(_TIMEOUT)
            self._connection = connection
            connection.connect(self._path)
        self._connection.sendall(request)
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._receive()
        head, _, rest = received.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        length = 0
        for line in lines[1:]:
            key, _, value = line.partition(":")
            if key.lower() == "content-length":
                length = int(value)
        while len(rest) < length:
            rest += self._receive()
        return int(lines[0].split(" ", 2)[1]), rest

    def _receive(self) -> bytes:
        assert self._connection is not None
        data = self._connection.recv(65536)
        if not data:
            raise ConnectionResetError("the service closed the connection")
        return data


def is_reachable(socket_path: "Path | str") -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
        probe.connect(str(socket_path))
        return True
    return False
