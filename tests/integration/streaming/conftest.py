"""A miniature cluster around the streaming code: API-shaped app, kubelet server, fake runtime."""

import asyncio
import datetime
import fcntl
import ipaddress
import os
import pty
import signal
import ssl
import struct
import termios
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
import uvloop
import yarl
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from winkube.api.errors import ApiError
from winkube.apiserver.streaming import proxy_stream
from winkube.base.types import JsonObject
from winkube.kubelet.server.app import KubeletServer
from winkube.kubelet.server.view import ContainerState
from winkube.runtime.streaming import ByteSink, ByteSource, StreamingServer, Streams
from winkube.wire import cri
from winkube.wire.remotecommand import StreamClosedError, StreamRequestError

LOOPBACK = "127.0.0.1"


@pytest.hookimpl(optionalhook=True)
def pytest_asyncio_loop_factories() -> dict[str, Any]:
    """Taking a connection over leans on the transports, so both kinds of loop are tried."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@dataclass(frozen=True)
class Authority:
    """A throw-away certificate authority and what it signed, as PEM files."""

    folder: Path
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def ca_file(self) -> Path:
        return self.folder / "ca.crt"

    def issue(self, user: str, *groups: str) -> tuple[Path, Path]:
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.NameAttribute(NameOID.COMMON_NAME, user)]
        names += [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        builder = _builder(x509.Name(names), self.certificate.subject, key).add_extension(
            x509.SubjectAlternativeName(
                [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address(LOOPBACK))]
            ),
            critical=False,
        )
        signed = builder.sign(self.key, hashes.SHA256())
        cert_file, key_file = self.folder / f"{user}.crt", self.folder / f"{user}.key"
        cert_file.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        key_file.write_bytes(_pem(key))
        return cert_file, key_file


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


@pytest.fixture
def make_authority() -> Callable[[Path], Authority]:
    return _make_authority


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return _make_authority(tmp_path / "pki")


def _make_authority(folder: Path) -> Authority:
    folder.mkdir()
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test-ca")])
    certificate = (
        _builder(subject, subject, key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "ca.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return Authority(folder, key, certificate)


class LocalBackend:
    """Runs the commands on this machine: a pty for a terminal, pipes otherwise."""

    def __init__(self) -> None:
        self.cancelled = asyncio.Event()
        self.sizes: list[tuple[int, int]] = []
        self.resized = asyncio.Event()

    async def exec(
        self, container_id: str, argv: Sequence[str], *, tty: bool, streams: Streams
    ) -> int:
        try:
            return await (self._terminal if tty else self._pipes)(argv, streams)
        except FileNotFoundError as error:
            raise StreamRequestError(
                f'exec failed: "{argv[0]}": executable file not found in $PATH'
            ) from error
        except asyncio.CancelledError:
            self.cancelled.set()
            raise

    async def attach(self, container_id: str, *, streams: Streams) -> None:
        await self._pipes(("sh", "-c", "read line; echo attached: $line"), streams)

    async def portforward(
        self, sandbox_id: str, port: int, reader: ByteSource, writer: ByteSink
    ) -> None:
        remote, local = await asyncio.open_connection(LOOPBACK, port)
        try:
            async with asyncio.TaskGroup() as group:
                feeder = group.create_task(_feed(reader, local))
                while data := await remote.read(65536):
                    await writer.write(data)
                feeder.cancel()
        finally:
            local.close()

    async def _pipes(self, argv: Sequence[str], streams: Streams) -> int:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE if streams.stdin else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            async with asyncio.TaskGroup() as group:
                feeder = None
                if streams.stdin and process.stdin:
                    feeder = group.create_task(_feed(streams.stdin, process.stdin))
                outputs = [
                    group.create_task(_emit(pipe, sink))
                    for pipe, sink in (
                        (process.stdout, streams.stdout),
                        (process.stderr, streams.stderr),
                    )
                    if pipe is not None
                ]
                await asyncio.wait(outputs)
                code = await process.wait()
                if feeder is not None:
                    feeder.cancel()
        finally:
            await _end(process)
        return code

    async def _terminal(self, argv: Sequence[str], streams: Streams) -> int:
        controller, terminal = pty.openpty()
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True
        )
        os.close(terminal)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._resize(controller, streams))]
                if streams.stdin:
                    tasks.append(group.create_task(_type(streams.stdin, controller)))
                await self._show(controller, streams.stdout)
                for task in tasks:
                    task.cancel()
            return await process.wait()
        finally:
            await _end(process)
            os.close(controller)

    async def _resize(self, controller: int, streams: Streams) -> None:
        while True:
            width, height = await streams.resize.get()
            self.sizes.append((width, height))
            fcntl.ioctl(controller, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
            self.resized.set()

    async def _show(self, controller: int, sink: ByteSink | None) -> None:
        loop = asyncio.get_running_loop()
        while True:
            readable = loop.create_future()
            loop.add_reader(controller, readable.set_result, None)
            try:
                await readable
            finally:
                loop.remove_reader(controller)
            try:
                data = os.read(controller, 65536)
            except OSError:
                return
            if not data:
                return
            if sink:
                await sink.write(data)


async def _end(process: asyncio.subprocess.Process) -> None:
    """The whole session: a shell's children would hold its pipes."""
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _feed(source: ByteSource, pipe: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read():
            pipe.write(data)
            await pipe.drain()
        if pipe.can_write_eof():
            pipe.write_eof()
        else:
            pipe.close()
    except (BrokenPipeError, ConnectionResetError, RuntimeError):
        return  # uvloop says RuntimeError of a closed pipe


async def _type(source: ByteSource, controller: int) -> None:
    while data := await source.read():
        os.write(controller, data)


async def _emit(pipe: asyncio.StreamReader, sink: ByteSink | None) -> None:
    while data := await pipe.read(65536):
        if sink is not None:
            try:
                await sink.write(data)
            except StreamClosedError:
                return


class FakeCri:
    def __init__(self, server: StreamingServer) -> None:
        self._server = server

    async def call(self, method: str, request: Any, *, timeout: float | None = None) -> Any:
        match method:
            case "Exec":
                return cri.ExecResponse(url=self._server.url_for_exec(request))
            case "Attach":
                return cri.AttachResponse(url=self._server.url_for_attach(request))
            case "PortForward":
                return cri.PortForwardResponse(url=self._server.url_for_portforward(request))
            case "ExecSync":
                process = await asyncio.create_subprocess_exec(
                    *request.cmd, stdout=asyncio.subprocess.PIPE
                )
                out, _ = await process.communicate()
                return cri.ExecSyncResponse(stdout=out, exit_code=process.returncode)
        raise AssertionError(method)


def pod(name: str = "web", phase: str = "Running") -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": "u1"},
        "spec": {
            "nodeName": "node-1",
            "containers": [{"name": "main", "image": "x", "stdin": True}],
        },
        "status": {
            "phase": phase,
            "containerStatuses": [
                {"name": "main", "ready": True, "state": {"running": {"startedAt": None}}}
            ],
        },
    }


@dataclass
class FakeView:
    cri: Any
    log: Path
    state: ContainerState | None = ContainerState.RUNNING
    container: str = "c1"
    health: bool = True
    items: list[JsonObject] = field(default_factory=lambda: [pod()])

    def sandbox_id(self, namespace: str, pod: str) -> str | None:
        return "s1" if pod == "web" else None

    def container_id(self, namespace: str, pod: str, container: str) -> str | None:
        return self.container if (pod, container) == ("web", "main") else None

    def container_state(self, namespace: str, pod: str, container: str) -> ContainerState | None:
        return self.state if (pod, container) == ("web", "main") else None

    def log_path(self, namespace: str, pod: str, container: str, previous: bool) -> Path | None:
        return None if previous or self.state is ContainerState.WAITING else self.log

    def pods(self) -> JsonObject:
        return {"apiVersion": "v1", "kind": "PodList", "items": self.items}

    async def stats_summary(self) -> JsonObject:
        return {
            "node": {"nodeName": "node-1", "cpu": {"usageCoreNanoSeconds": 5_000_000_000}},
            "pods": [
                {
                    "podRef": {"name": "web", "namespace": "default"},
                    "containers": [{"name": "main", "memory": {"workingSetBytes": 4096}}],
                }
            ],
        }

    def healthy(self) -> bool:
        return self.health


@dataclass(frozen=True)
class KubeletSettings:
    cert_file: Path
    key_file: Path
    client_ca_file: Path
    node_name: str = "node-1"
    node_ip: str = LOOPBACK
    port: int = 0


@dataclass
class Cluster:
    """Everything a test needs to talk to the miniature cluster."""

    url: str
    kubelet_url: str
    kubeconfig: Path
    authority: Authority
    backend: LocalBackend
    view: FakeView
    streaming: StreamingServer


class MiniApi:
    """Just enough of an API server for kubectl and the Python client to find one pod."""

    def __init__(self, kubelet: str, context: ssl.SSLContext) -> None:
        self._kubelet, self._context = yarl.URL(kubelet), context

    def app(self) -> web.Application:
        app = web.Application(middlewares=[_as_status])
        app.router.add_get("/api", _json({"kind": "APIVersions", "versions": ["v1"]}))
        app.router.add_get("/apis", _json({"kind": "APIGroupList", "groups": []}))
        resources = [
            {"name": name, "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": verbs}
            for name, verbs in (("pods", ["get", "list"]), ("pods/exec", ["create", "get"]))
        ]
        app.router.add_get(
            "/api/v1",
            _json({"kind": "APIResourceList", "groupVersion": "v1", "resources": resources}),
        )
        base = "/api/v1/namespaces/{namespace}/pods/{pod}"
        app.router.add_get(base, _json(pod()))
        app.router.add_get(f"{base}/log", self._log)
        app.router.add_route("*", f"{base}/{{kind:exec|attach|portforward}}", self._stream)
        return app

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        info, query = request.match_info, request.query
        kind = info["kind"]
        container = "" if kind == "portforward" else f"/{query.get('container', 'main')}"
        verb = "portForward" if kind == "portforward" else kind
        names = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}
        passed = [(names[key], "1") for key in names if query.get(key) in ("true", "1")]
        passed += [("command", value) for value in query.getall("command", [])]
        url = self._kubelet / f"{verb}/{info['namespace']}/{info['pod']}{container}"
        return await proxy_stream(request, url.with_query(passed), self._context, kind=kind)  # type: ignore[arg-type]

    async def _log(self, request: web.Request) -> web.StreamResponse:
        container = request.query.get("container", "main")
        info = request.match_info
        url = self._kubelet / f"containerLogs/{info['namespace']}/{info['pod']}/{container}"
        async with (
            aiohttp.ClientSession() as session,
            session.get(url.with_query(request.query), ssl=self._context) as answer,
        ):
            response = web.StreamResponse(status=answer.status)
            await response.prepare(request)
            async for data in answer.content.iter_any():
                await response.write(data)
            return response


@web.middleware
async def _as_status(request: web.Request, handler: Any) -> web.StreamResponse:
    try:
        response: web.StreamResponse = await handler(request)
    except ApiError as error:
        return web.json_response(error.to_status(), status=error.code)
    return response


def _json(document: JsonObject) -> Any:
    async def answer(_request: web.Request) -> web.Response:
        return web.json_response(document)

    return answer


@asynccontextmanager
async def _serving(app: web.Application, context: ssl.SSLContext) -> AsyncIterator[int]:
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, LOOPBACK, 0, ssl_context=context).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def _write_kubeconfig(path: Path, url: str, authority: Authority) -> None:
    cert, key = authority.issue("kubernetes-admin", "system:masters")
    cluster = {"server": url, "certificate-authority": str(authority.ca_file)}
    user = {"client-certificate": str(cert), "client-key": str(key)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "admin", "user": user}],
    }
    path.write_bytes(orjson.dumps(config))


@asynccontextmanager
async def running_cluster(authority: Authority, folder: Path) -> AsyncIterator[Cluster]:
    cert, key = authority.issue("server")
    client = authority.issue("kube-apiserver-kubelet-client", "system:masters")
    backend = LocalBackend()
    streaming = StreamingServer(backend)
    view = FakeView(FakeCri(streaming), folder / "0.log")
    kubelet = KubeletServer(KubeletSettings(cert, key, authority.ca_file), view)
    to_kubelet = ssl.create_default_context(cafile=str(authority.ca_file))
    to_kubelet.load_cert_chain(*client)
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(cert, key)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(streaming.run()), group.create_task(kubelet.run())]
        await streaming.ready.wait()
        await kubelet.ready.wait()
        kubelet_url = f"https://{LOOPBACK}:{kubelet.port}"
        try:
            async with _serving(MiniApi(kubelet_url, to_kubelet).app(), serving) as port:
                url = f"https://{LOOPBACK}:{port}"
                kubeconfig = folder / "kubeconfig"
                _write_kubeconfig(kubeconfig, url, authority)
                yield Cluster(url, kubelet_url, kubeconfig, authority, backend, view, streaming)
        finally:
            for task in tasks:
                task.cancel()


@pytest.fixture
async def cluster(authority: Authority, tmp_path: Path) -> AsyncIterator[Cluster]:
    async with running_cluster(authority, tmp_path) as running:
        yield running
