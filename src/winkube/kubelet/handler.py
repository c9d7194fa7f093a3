"""What probes and lifecycle hooks do: run a command, open a port, ask over HTTP."""

import asyncio
import ssl
from dataclasses import dataclass
from typing import Final

import aiohttp
from yarl import URL

from winkube.base.types import JsonObject
from winkube.facts.version import SERVED
from winkube.kubelet.errors import HookError
from winkube.kubelet.pod.state import CriCaller
from winkube.wire import cri
from winkube.wire.cri_client import CriError

MAX_BODY: Final = 10 * 1024
MAX_REDIRECTS: Final = 10
USER_AGENT: Final = f"kube-probe/{SERVED}"


@dataclass(frozen=True, slots=True)
class Target:
    """A container to act on: its id, the pod's address and the container's named ports."""

    container_id: str
    ip: str
    container: JsonObject


@dataclass(frozen=True, slots=True)
class Outcome:
    ok: bool
    output: str = ""


async def run_exec(
    caller: CriCaller, target: Target, command: list[str], timeout: float
) -> Outcome:
    request = cri.ExecSyncRequest(
        container_id=target.container_id, cmd=command, timeout=max(1, int(timeout))
    )
    try:
        answer = await caller.call("ExecSync", request, timeout=timeout + 5)
    except CriError as error:
        if error.code.name == "DEADLINE_EXCEEDED":
            return Outcome(False, f'command "{" ".join(command)}" timed out')
        return Outcome(False, str(error))
    output = (answer.stdout + answer.stderr).decode(errors="replace")[:MAX_BODY]
    return Outcome(answer.exit_code == 0, output)


async def run_tcp(target: Target, action: JsonObject, timeout: float) -> Outcome:
    host, port = action.get("host") or target.ip, find_port(action.get("port"), target.container)
    try:
        async with asyncio.timeout(timeout):
            _, writer = await asyncio.open_connection(host, port)
            writer.close()
    except TimeoutError:
        return Outcome(False, f"dial tcp {_address(host, port)}: i/o timeout")
    except (OSError, ValueError) as error:
        # A name that cannot be one (an empty label, a NUL) is a ValueError.
        return Outcome(False, f"dial tcp {_address(host, port)}: {_words(error)}")
    return Outcome(True)


async def run_http(target: Target, action: JsonObject, timeout: float) -> Outcome:
    host, port = action.get("host") or target.ip, find_port(action.get("port"), target.container)
    scheme = str(action.get("scheme") or "HTTP").lower()
    path = str(action.get("path") or "/")
    url = f"{scheme}://{_address(host, port)}{path if path.startswith('/') else '/' + path}"
    headers = {"User-Agent": USER_AGENT, "Accept": "*/*"}
    headers |= {entry["name"]: entry["value"] for entry in action.get("httpHeaders") or []}
    try:
        # A new connection each time, and any certificate will do: this asks "are you there?"
        async with aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=timeout), headers=headers, trust_env=False
        ) as session:
            status, body = await _get(session, URL(url), _any_certificate(scheme))
    except TimeoutError:
        return Outcome(
            False,
            f'Get "{url}": context deadline exceeded (Client.Timeout exceeded while awaiting '
            "headers)",
        )
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return Outcome(False, f'Get "{url}": {_dial(error, host, port)}')
    if 200 <= status < 400:
        return Outcome(True, body.decode(errors="replace"))
    return Outcome(False, f"HTTP probe failed with statuscode: {status}")


async def _get(
    session: aiohttp.ClientSession, url: URL, context: ssl.SSLContext | bool
) -> tuple[int, bytes]:
    """Follow redirects on the same host; one that leads elsewhere is an answer like any other."""
    for _ in range(MAX_REDIRECTS):
        async with session.get(url, ssl=context, allow_redirects=False) as response:
            target = url.join(URL(response.headers.get("Location", "")))
            away = target.host != url.host
            if not 300 <= response.status < 400 or away or "Location" not in response.headers:
                return response.status, await response.content.read(MAX_BODY)
        url = target
    raise HookError(f"stopped after {MAX_REDIRECTS} redirects")


async def run_grpc(target: Target, action: JsonObject, timeout: float) -> Outcome:
    """The standard health service."""
    import grpc.aio  # not before the supervisor has forked

    address = _address(target.ip, find_port(action.get("port"), target.container))
    request = health_request(str(action.get("service") or ""))
    async with grpc.aio.insecure_channel(address) as channel:
        check = channel.unary_unary("/grpc.health.v1.Health/Check", _as_is, _as_is)
        try:
            answer = await check(request, timeout=timeout)
        except grpc.aio.AioRpcError as error:
            return Outcome(False, f"error: health rpc failed: {error.details()}")
    serving = answer == b"\x08\x01"
    return Outcome(serving, "" if serving else "service unhealthy (responded with a bad status)")


def health_request(service: str) -> bytes:
    """A HealthCheckRequest: one field of text is not worth generated classes."""
    data = service.encode()
    length, rest = bytearray(), len(data)
    while rest > 0x7F:
        length.append(rest & 0x7F | 0x80)
        rest >>= 7
    length.append(rest)
    return b"\x0a" + bytes(length) + data if data else b""


def _as_is(message: bytes) -> bytes:
    return message


def _any_certificate(scheme: str) -> ssl.SSLContext | bool:
    if scheme != "https":
        return True
    # Not the default one: nothing is verified, so no probe shall read the machine's authorities.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _dial(error: Exception, host: str, port: int) -> str:
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, OSError):
        return f"dial tcp {_address(host, port)}: {_words(cause)}"
    return str(error) or type(error).__name__


def _words(error: OSError | ValueError) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connect: connection refused"
    if isinstance(error, ValueError):
        return "lookup: no such host"
    return f"connect: {(error.strerror or str(error)).lower()}"


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def find_port(port: object, container: JsonObject) -> int:
    """A number, or the name of one of the container's ports."""
    if isinstance(port, int):
        return port
    text = str(port or "")
    for entry in container.get("ports") or []:
        if entry.get("name") == text:
            return int(entry["containerPort"])
    if text.isdigit():
        return int(text)
    raise HookError(f'couldn\'t find port "{text}" in container "{container["name"]}"')


async def run_hook(caller: CriCaller, target: Target, action: JsonObject, timeout: float) -> None:
    """A postStart or preStop handler; HookError when it fails."""
    if "sleep" in action:
        await asyncio.sleep(float(action["sleep"]["seconds"]))
        return
    if "exec" in action:
        outcome = await run_exec(caller, target, action["exec"].get("command") or [], timeout)
    elif "httpGet" in action:
        outcome = await run_http(target, action["httpGet"], timeout)
    elif "tcpSocket" in action:
        outcome = await run_tcp(target, action["tcpSocket"], timeout)
    else:
        raise HookError(f"invalid handler: {', '.join(sorted(action)) or 'empty'}")
    if not outcome.ok:
        raise HookError(outcome.output or "the handler failed")
