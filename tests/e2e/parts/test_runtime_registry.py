"""Windows images from a real registry: who may pull, where from, and in which wrapping."""

import asyncio
import base64
import datetime
import json
import secrets
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jwt
import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.e2e.runtime_harness import (
    PASSWORD,
    USER,
    Pod,
    build_image,
    closed_registry,
    copy,
    push,
    refused,
    registry,
    serving,
)

from winkube.base.clock import SystemClock
from winkube.runtime.config import RegistryAuth, RegistryConfig, RuntimeConfig
from winkube.wire import cri
from winkube.wire.cri_client import CriClient

pytestmark = pytest.mark.root

SERVICE, ISSUER = "wkt-registry", "wkt-tokens"


async def pull(client: CriClient, name: str, auth: Any = None) -> str:
    request = cri.PullImageRequest(image=cri.ImageSpec(image=name), auth=auth)
    return str((await client.call("PullImage", request)).image_ref)


async def run(client: CriClient, logs: Path, image: str) -> str:
    """What the image's own command says."""
    pod = await Pod(client, logs).run()
    status = await pod.run_to_end("greet", image, pull=False)
    assert status.exit_code == 0
    assert pod.output("greet", "stderr") == ""
    return pod.output("greet").strip()


def make_image(folder: Path, name: str, *options: str) -> str:
    """Push an image that no test has had before; what it says when it runs."""
    words = secrets.token_hex(8)
    build_image(folder / "image.tar", name, words.encode())
    push(folder / "image.tar", name, *options)
    return f"{words} well"


async def test_name_and_password_open_a_registry(config: RuntimeConfig, tmp_path: Path) -> None:
    with closed_registry(tmp_path) as host:
        name = f"{host}/team/greet:1"
        words = make_image(tmp_path, name, f"--dest-creds={USER}:{PASSWORD}")
        async with serving(config) as client:
            error = await refused(lambda: pull(client, name))
            assert "no basic auth" in error.message
            wrong = cri.AuthConfig(username=USER, password="wrong")
            error = await refused(lambda: pull(client, name, wrong))
            assert "pull access denied" in error.message
            assert "401 Unauthorized" in error.message
            assert not (await client.call("ListImages", cri.ListImagesRequest())).images
            both = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
            await pull(client, name, cri.AuthConfig(auth=both))
            assert await run(client, tmp_path / "logs", name) == words
        known = {host: RegistryAuth(USER, PASSWORD)}
        async with serving(replace(config, registries=RegistryConfig(auths=known))) as client:
            assert (await pull(client, name)).startswith("sha256:")


@dataclass
class TokenServer:
    """Gives tokens to those who know the password (distribution/distribution: docs/spec/auth)."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    url: str = ""
    given: int = 0

    async def answer(self, request: web.Request) -> web.Response:
        known = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if request.headers.get("Authorization") != f"Basic {known}":
            raise web.HTTPUnauthorized(text="wrong name or password")
        self.given += 1
        access = [
            {"type": kind, "name": name, "actions": actions.split(",")}
            for kind, name, actions in (s.split(":") for s in request.query.getall("scope", []))
        ]
        now = int(SystemClock().now())
        claims: dict[str, Any] = {
            "iss": ISSUER,
            "sub": USER,
            "aud": request.query["service"],
            "access": access,
        }
        claims |= {"nbf": now - 10, "iat": now, "exp": now + 300, "jti": secrets.token_hex(8)}
        der = self.certificate.public_bytes(serialization.Encoding.DER)
        chain = {"x5c": [base64.b64encode(der).decode()]}
        token = jwt.encode(claims, self.key, algorithm="ES256", headers=chain)
        return web.json_response({"token": token})


def make_certificate(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, ISSUER)])
    now = datetime.datetime.fromtimestamp(SystemClock().now(), datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )


@asynccontextmanager
async def token_server() -> AsyncIterator[TokenServer]:
    key = ec.generate_private_key(ec.SECP256R1())
    server = TokenServer(key, make_certificate(key))
    app = web.Application()
    app.router.add_get("/token", server.answer)
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/token"
        yield server
    finally:
        await runner.cleanup()


def token_settings(server: TokenServer, folder: Path) -> str:
    bundle = folder / "tokens.pem"
    bundle.write_bytes(server.certificate.public_bytes(serialization.Encoding.PEM))
    fields = {"realm": server.url, "service": SERVICE, "issuer": ISSUER, "rootcertbundle": bundle}
    lines = "".join(f"    {name}: {value}\n" for name, value in fields.items())
    return f"auth:\n  token:\n{lines}"


async def test_a_token_server_opens_a_registry(config: RuntimeConfig, tmp_path: Path) -> None:
    async with token_server() as server:
        with registry(tmp_path, token_settings(server, tmp_path)) as host:
            name = f"{host}/team/greet:1"
            creds = f"--dest-creds={USER}:{PASSWORD}"
            words = await asyncio.to_thread(make_image, tmp_path, name, creds)
            given = server.given
            async with serving(config) as client:
                wrong = cri.AuthConfig(username=USER, password="wrong")
                error = await refused(lambda: pull(client, name, wrong))
                assert "pull access denied" in error.message
                await pull(client, name, cri.AuthConfig(username=USER, password=PASSWORD))
                assert server.given == given + 1  # one token serves the whole pull
                assert await run(client, tmp_path / "logs", name) == words


async def test_mirrors_are_asked_in_order_and_get_no_password(
    config: RuntimeConfig, tmp_path: Path
) -> None:
    (tmp_path / "closed").mkdir()
    with registry(tmp_path) as host, closed_registry(tmp_path / "closed") as closed:
        words = make_image(tmp_path, f"{host}/team/greet:1")
        mirrors = {"registry.invalid": ("127.0.0.1:1", closed, host)}
        async with serving(replace(config, registries=RegistryConfig(mirrors=mirrors))) as client:
            auth = cri.AuthConfig(username=USER, password=PASSWORD)
            await pull(client, "registry.invalid/team/greet:1", auth)
            assert await run(client, tmp_path / "logs", "registry.invalid/team/greet:1") == words
    asked = (tmp_path / "closed" / "registry.log").read_text()
    assert "/v2/team/greet/manifests/1" in asked
    assert f'authorizing user "{USER}"' not in asked


@pytest.mark.parametrize("form", ["gzip", "zstd"])
async def test_layers_come_in_either_compression(
    config: RuntimeConfig, tmp_path: Path, form: str
) -> None:
    build_image(tmp_path / "image.tar", "example.com/greet:1", form.encode())
    plain = f"dir:{tmp_path}/plain"
    copy(f"oci-archive:{tmp_path}/image.tar", plain, "--dest-decompress")
    with registry(tmp_path) as host:
        name = f"{host}/team/greet:1"
        options = ("--dest-tls-verify=false", "--format=oci", "--dest-compress-format", form)
        copy(plain, f"docker://{name}", *options)
        assert all(kind.endswith(form) for kind in layer_types(name))
        async with serving(config) as client:
            await pull(client, name)
            assert await run(client, tmp_path / "logs", name) == f"{form} well"


def layer_types(name: str) -> list[str]:
    """The media types a registry names for an image's layers."""
    host, _, rest = name.partition("/")
    path, _, tag = rest.rpartition(":")
    accept = {"Accept": "application/vnd.oci.image.manifest.v1+json"}
    request = urllib.request.Request(f"http://{host}/v2/{path}/manifests/{tag}", headers=accept)
    with urllib.request.urlopen(request) as answer:
        return [layer["mediaType"] for layer in json.load(answer)["layers"]]


async def test_a_docker_archive_is_loaded(config: RuntimeConfig, tmp_path: Path) -> None:
    name = "example.com/team/greet:1"
    build_image(tmp_path / "oci.tar", name, b"from docker")
    copy(f"oci-archive:{tmp_path}/oci.tar", f"docker-archive:{tmp_path}/docker.tar:{name}")
    async with serving(config) as client:
        assert await pull(client, f"archive:{tmp_path}/docker.tar") == name
        assert await run(client, tmp_path / "logs", name) == "from docker well"


async def test_removing_an_image_removes_its_files_once_no_container_needs_them(
    config: RuntimeConfig, tmp_path: Path
) -> None:
    def files() -> int:
        layers = [path for path in (config.cache / "layers").glob("*/*") if path.is_dir()]
        return len([*(config.cache / "blobs").iterdir(), *layers])

    with registry(tmp_path) as host:
        name = f"{host}/team/greet:1"
        make_image(tmp_path, name)
        async with serving(config) as client:
            await pull(client, name)
            pod = await Pod(client, tmp_path / "logs").run()
            container = await pod.create("idle", name, "ping", "-n", "60", "127.0.0.1", pull=False)
            await pod.start(container)
            assert files() == 5  # a config and two layers, as blobs and unpacked
            request = cri.RemoveImageRequest(image=cri.ImageSpec(image=name))
            await client.call("RemoveImage", request)
            assert files() == 2
            await client.call("RemoveContainer", cri.RemoveContainerRequest(container_id=container))
            await client.call("RemoveImage", request)
            assert files() == 0
