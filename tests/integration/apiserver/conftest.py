"""An API server on loopback, in a thread of the test process, with real certificates."""

import asyncio
import contextlib
import dataclasses
import datetime
import http.client
import ipaddress
import pickle
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID
from tests.e2e.harness import find_kubectls
from tests.integration.apiserver.webhook_server import Configured, Webhook, webhook_server

from winkube.apiserver.config import ApiServerConfig
from winkube.apiserver.server import ApiServer

KUBECTLS = find_kubectls() or [Path("kubectl")]


class Authority:
    """A throw-away certificate authority in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test-ca")])
        self._certificate = self._sign(self._name, self._key.public_key(), is_ca=True)
        self.file = folder / "ca.crt"
        self.file.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def issue(
        self, stem: str, name: str, groups: tuple[str, ...] = (), hosts: tuple[str, ...] = ()
    ) -> tuple[Path, Path]:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name(
            [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
            + [x509.NameAttribute(NameOID.COMMON_NAME, name)]
        )
        certificate = self._sign(subject, key.public_key(), is_ca=False, hosts=hosts)
        cert_file, key_file = self.folder / f"{stem}.crt", self.folder / f"{stem}.key"
        cert_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        key_file.write_bytes(private_pem(key))
        return cert_file, key_file

    def _sign(
        self, subject: x509.Name, key: Any, *, is_ca: bool, hosts: tuple[str, ...] = ()
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        names = [
            x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
            *(x509.DNSName(host) for host in ("localhost", *hosts)),
        ]
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=5))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(is_ca, None), critical=True)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
        )
        return builder.sign(self._key, hashes.SHA256())


def private_pem(key: Any) -> bytes:
    pem: bytes = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return pem


@dataclass
class Running:
    """A server that answers, and how to reach it."""

    url: str
    authority: Authority
    folder: Path
    admin: tuple[Path, Path]

    def kubeconfig(self, stem: str = "admin", files: tuple[Path, Path] | None = None) -> Path:
        cert, key = files or self.admin
        path = self.folder / f"{stem}.kubeconfig"
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "clusters": [
                {
                    "name": "test",
                    "cluster": {
                        "server": self.url,
                        "certificate-authority": str(self.authority.file),
                    },
                }
            ],
            "users": [
                {
                    "name": "test",
                    "user": {"client-certificate": str(cert), "client-key": str(key)},
                }
            ],
        }
        path.write_bytes(orjson.dumps(config))
        return path

    def ssl_context(self, files: tuple[Path, Path] | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.authority.file))
        cert, key = files or self.admin
        context.load_cert_chain(cert, key)
        return context


def make_config(folder: Path, authority: Authority, sock: socket.socket) -> ApiServerConfig:
    cert, key = authority.issue("server", "kube-apiserver")
    kubelet_cert, kubelet_key = authority.issue(
        "kubelet-client", "kube-apiserver-kubelet-client", ("system:masters",)
    )
    account_key = folder / "sa.key"
    account_key.write_bytes(private_pem(rsa.generate_private_key(65537, 2048)))
    return ApiServerConfig(
        sockets=(sock,),
        cert_file=cert,
        key_file=key,
        client_ca_file=authority.file,
        kubelet_client_cert=kubelet_cert,
        kubelet_client_key=kubelet_key,
        kubelet_ca=authority.file,
        store_path=folder / "state.db",
        service_account_key=account_key,
        advertise_address="127.0.0.1",
        advertise_port=sock.getsockname()[1],
    )


@contextlib.contextmanager
def run_server(config: ApiServerConfig) -> Iterator[None]:
    """Serve in a thread of its own until the block ends."""
    started = threading.Event()
    control: dict[str, Any] = {}

    async def main() -> None:
        server = ApiServer(config)
        control["loop"] = asyncio.get_running_loop()
        control["task"] = asyncio.current_task()
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(server.run())
            await server.ready.wait()
            started.set()
            await serving

    def target() -> None:
        with (
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
            contextlib.suppress(asyncio.CancelledError),
        ):
            try:
                runner.run(main())
            except BaseException as error:
                control["error"] = error
                raise
            finally:
                started.set()

    thread = threading.Thread(target=target, name="apiserver")
    thread.start()
    started.wait(30)
    if "error" in control:
        thread.join()
        raise control["error"]
    try:
        yield
    finally:
        control["loop"].call_soon_threadsafe(control["task"].cancel)
        thread.join(20)
        assert not thread.is_alive()


def listen() -> socket.socket:
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", 0))
    return sock


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("apiserver")
    authority = Authority(folder)
    sock = listen()
    config = make_config(folder, authority, sock)
    port = sock.getsockname()[1]
    admin = authority.issue("admin", "kubernetes-admin", ("system:masters",))
    with run_server(config):
        yield Running(f"https://127.0.0.1:{port}", authority, folder, admin)


@dataclass
class Kubectl:
    program: Path
    config: Path
    cache: Path

    def __call__(self, *args: str, stdin: str | None = None, check: bool = True) -> str:
        done = self.run(*args, stdin=stdin)
        if check and done.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(args)}: {done.stderr}{done.stdout}")
        return done.stdout if check else done.stdout + done.stderr

    def run(self, *args: str, stdin: str | None = None) -> "subprocess.CompletedProcess[str]":
        command = [str(self.program), "--kubeconfig", str(self.config)]
        return subprocess.run(
            [*command, "--cache-dir", str(self.cache), *args],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture(scope="session", params=KUBECTLS, ids=lambda path: path.name)
def any_kubectl(
    request: pytest.FixtureRequest, server: Running, tmp_path_factory: pytest.TempPathFactory
) -> Kubectl:
    """One of several versions; a test that asks for it runs once with each."""
    return Kubectl(request.param, server.kubeconfig(), tmp_path_factory.mktemp("kubectl"))


@pytest.fixture(scope="session")
def kubectl(server: Running, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    return Kubectl(KUBECTLS[-1], server.kubeconfig(), tmp_path_factory.mktemp("kubectl"))


@dataclass
class Answer:
    status: int
    body: Any
    headers: dict[str, str]

    @property
    def message(self) -> str:
        return str(self.body["message"])


class Http:
    """Requests as they are, for what no client library sends."""

    def __init__(self, server: Running, files: tuple[Path, Path] | None = None) -> None:
        host, _, port = server.url.removeprefix("https://").partition(":")
        self._place = (host, int(port))
        self._context = server.ssl_context(files)

    def __call__(self, method: str, path: str, body: Any = None, /, **headers: str) -> Answer:
        connection = self._open()
        data = body if body is None or isinstance(body, bytes) else orjson.dumps(body)
        sent = {"Content-Type": "application/json", "Accept": "application/json"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, data, sent)
            response = connection.getresponse()
            raw = response.read()
            kind = response.headers.get_content_type()
            parsed = orjson.loads(raw) if kind == "application/json" and raw else raw
            return Answer(response.status, parsed, dict(response.headers.items()))
        finally:
            connection.close()

    @contextlib.contextmanager
    def watch(self, path: str) -> Iterator[Callable[[], Any]]:
        """Yield a function that waits for the next event."""
        connection = self._open()
        try:
            connection.request("GET", path, headers={"Accept": "application/json"})
            response = connection.getresponse()
            assert response.status == 200, response.read()

            def take() -> Any:
                line = response.readline()
                return orjson.loads(line) if line else None

            yield take
        finally:
            connection.close()

    def _open(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(*self._place, context=self._context, timeout=20)


@pytest.fixture(scope="session")
def api(server: Running) -> Http:
    return Http(server)


@pytest.fixture
def own_server() -> Callable[[Path], tuple[Path, socket.socket, Http]]:
    """Prepare a server for a process of its own: pickled configuration, socket, client."""

    def prepare(folder: Path) -> tuple[Path, socket.socket, Http]:
        authority = Authority(folder)
        sock = listen()
        sock.listen(128)
        config = make_config(folder, authority, sock)
        fields = {
            entry.name: getattr(config, entry.name)
            for entry in dataclasses.fields(config)
            if entry.name != "sockets"
        }
        path = folder / "config.pickle"
        path.write_bytes(pickle.dumps(fields))
        admin = authority.issue("admin", "kubernetes-admin", ("system:masters",))
        url = f"https://127.0.0.1:{sock.getsockname()[1]}"
        return path, sock, Http(Running(url, authority, folder, admin))

    return prepare


@pytest.fixture
def space(api: Http) -> Iterator[str]:
    """A namespace with its default account, made without kubectl."""
    name = api("POST", "/api/v1/namespaces", {"metadata": {"generateName": "t-"}}).body["metadata"][
        "name"
    ]
    accounts = f"/api/v1/namespaces/{name}/serviceaccounts"
    assert api("POST", accounts, {"metadata": {"name": "default"}}).status == 201
    yield name
    api("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture
def namespace(kubectl: Kubectl, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"t-{abs(hash(request.node.nodeid)) % 10**9}"
    kubectl("create", "namespace", name)
    kubectl("create", "serviceaccount", "default", "-n", name)
    yield name
    kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def hook(server: Running) -> Iterator[Webhook]:
    files = server.authority.issue("webhook", "webhook", hosts=("hook.hooks.svc",))
    with webhook_server(*files, server.authority.file) as found:
        yield found


@pytest.fixture
def configured(api: Any, space: str) -> Iterator[Configured]:
    found = Configured(api, space)
    yield found
    found.clean()
