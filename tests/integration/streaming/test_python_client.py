"""The official Python client: WebSocket v4 channels for exec and attach, and port-forward."""

import asyncio
from collections.abc import Callable
from typing import Any

import kubernetes
import kubernetes.stream
import pytest


@pytest.fixture
def core(cluster: Any) -> Any:
    configuration = kubernetes.client.Configuration()
    kubernetes.config.load_kube_config(  # type: ignore[no-untyped-call]
        str(cluster.kubeconfig), client_configuration=configuration, persist_config=False
    )
    return kubernetes.client.CoreV1Api(kubernetes.client.ApiClient(configuration))


async def in_thread(work: Callable[[], Any]) -> Any:
    async with asyncio.timeout(30):
        return await asyncio.to_thread(work)


def _exec(core: Any, command: list[str], **options: Any) -> Any:
    return kubernetes.stream.stream(
        core.connect_get_namespaced_pod_exec,
        "web",
        "default",
        command=command,
        stdout=True,
        stderr=True,
        _preload_content=False,
        **options,
    )


async def test_exec_gives_outputs_and_exit_code(core: Any) -> None:
    def work() -> tuple[str, str, int]:
        answer = _exec(core, ["sh", "-c", "echo out; echo err >&2; exit 4"])
        answer.run_forever(timeout=20)
        said = answer.read_stdout(), answer.read_stderr(), answer.returncode
        answer.sock.shutdown()  # the library leaves its socket to the garbage collector
        return said

    assert await in_thread(work) == ("out\n", "err\n", 4)


async def test_interactive_exec_answers_line_by_line(core: Any) -> None:
    def work() -> list[str]:
        answer = _exec(core, ["cat"], stdin=True)
        lines = []
        for text in ("one", "two"):
            answer.write_stdin(f"{text}\n")
            lines.append(answer.readline_stdout(timeout=10))
        answer.close()
        return lines

    assert await in_thread(work) == ["one", "two"]


async def test_port_forward_carries_a_connection(core: Any) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello " + await reader.readline())
        await writer.drain()
        writer.close()

    def work(port: int) -> bytes:
        forward = kubernetes.stream.portforward(
            core.connect_get_namespaced_pod_portforward, "web", "default", ports=str(port)
        )
        link = forward.socket(port)
        link.sendall(b"world\n")
        link.settimeout(10)
        said = b""
        while data := link.recv(1024):
            said += data
        assert forward.error(port) is None
        link.close()
        forward.close()
        forward.websocket.shutdown()
        return said

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        assert await in_thread(lambda: work(port)) == b"hello world\n"
