"""Remote command over SPDY: typed streams, accepted as a server or opened as a client."""

import asyncio
from dataclasses import dataclass
from typing import Final

from winkube.wire.remotecommand import V1, V2, Session, StreamRequestError, Wanted
from winkube.wire.spdy import SpdyConnection, SpdyStream

STREAM_TYPE: Final = "streamtype"
CREATE_SECONDS: Final = 30
LINGER_SECONDS: Final = 5


def _roles(wanted: Wanted, version: str) -> list[str]:
    """The streams of a session, in the order in which Kubernetes' own client opens them."""
    flags = {
        "error": True,
        "stdin": wanted.stdin,
        "stdout": wanted.stdout,
        "stderr": wanted.stderr,
        "resize": wanted.tty and version not in (V1, V2),
    }
    return [role for role, flag in flags.items() if flag]


async def accept_session(connection: SpdyConnection, wanted: Wanted, version: str) -> Session:
    """Wait until the client has opened every stream it asked for."""
    missing, found = set(_roles(wanted, version)), dict[str, SpdyStream]()
    try:
        async with asyncio.timeout(CREATE_SECONDS):
            while missing:
                stream = await connection.accept()
                if stream is None:
                    raise StreamRequestError("the client left before its streams were open")
                role = stream.headers.get(STREAM_TYPE, "")
                if role not in missing:
                    raise StreamRequestError(f"unexpected stream type: {role!r}")
                missing.remove(role)
                found[role] = stream
    except TimeoutError as error:
        raise StreamRequestError("timed out waiting for client to create streams") from error
    return Session(
        version=version,
        stdin=found.get("stdin"),
        stdout=found.get("stdout"),
        stderr=found.get("stderr"),
        resize=found.get("resize"),
        error=found["error"],
        gone=connection.gone,
    )


async def linger(connection: SpdyConnection) -> None:
    """Let the client hang up first: closing on unread input would reset what is in flight."""
    connection.ignore_input()
    try:
        async with asyncio.timeout(LINGER_SECONDS):
            await connection.gone.wait()
    except TimeoutError:
        return


@dataclass(frozen=True, slots=True)
class ClientStreams:
    """The client's end of a session."""

    error: SpdyStream
    stdin: SpdyStream | None
    stdout: SpdyStream | None
    stderr: SpdyStream | None
    resize: SpdyStream | None


async def open_session(connection: SpdyConnection, wanted: Wanted, version: str) -> ClientStreams:
    """Open every stream, then wait for the server's word on all of them."""
    opened = {role: await connection.open({STREAM_TYPE: role}) for role in _roles(wanted, version)}
    try:
        async with asyncio.timeout(CREATE_SECONDS):
            for stream in opened.values():
                await stream.accepted()
    except TimeoutError as error:
        raise StreamRequestError("timed out waiting for the server to accept streams") from error
    return ClientStreams(
        error=opened["error"],
        stdin=opened.get("stdin"),
        stdout=opened.get("stdout"),
        stderr=opened.get("stderr"),
        resize=opened.get("resize"),
    )
