"""The webhook's server over TLS: health, hostile requests, a new certificate, a graceful end."""

import asyncio
import io
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from winkube.base.clock import SystemClock
from winkube.cluster.pki import Authority, Identity, Pair
from winkube.rules.admission.cluster import Cluster, FixedWorld
from winkube.rules.target import parse_target
from winkube.webhook.certificate import Certificate
from winkube.webhook.errors import SettingError
from winkube.webhook.review import MOST_BYTES
from winkube.webhook.server import WebhookConfig, WebhookServer

POD = {
    "metadata": {"name": "web"},
    "spec": {
        "nodeSelector": {"kubernetes.io/os": "windows"},
        "containers": [{"name": "app", "image": "app:1", "securityContext": {"privileged": True}}],
    },
}


def review(obj: Any = POD, **request: Any) -> dict[str, Any]:
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u-1",
            "operation": "CREATE",
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "userInfo": {"username": "jane"},
            "object": obj,
            **request,
        },
    }


def issue(folder: Path, name: str = "tls") -> Pair:
    pair = Pair(folder / f"{name}.crt", folder / f"{name}.key")
    authority = Authority.ensure(folder, SystemClock())
    authority.ensure_pair(pair, Identity(name, "webhook", (), ("127.0.0.1",)))
    return pair


class Served:
    def __init__(self, server: WebhookServer, session: aiohttp.ClientSession) -> None:
        self.server, self.session = server, session

    async def post(self, path: str, body: Any) -> tuple[int, Any]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        url = f"https://127.0.0.1:{self.server.port}{path}"
        async with self.session.post(url, data=io.BytesIO(data)) as response:
            text = await response.text()
            is_json = response.content_type == "application/json"
            return response.status, json.loads(text) if is_json else text

    async def get(self, path: str) -> tuple[int, str]:
        url = f"https://127.0.0.1:{self.server.port}{path}"
        async with self.session.get(url) as response:
            return response.status, await response.text()


@asynccontextmanager
async def serving(
    folder: Path, *, linger: float = 0.0, follower: Any = None
) -> AsyncIterator[tuple[Served, Certificate]]:
    pair = issue(folder)
    certificate = Certificate(pair.cert, pair.key)
    world = FixedWorld(Cluster((parse_target("1.34", "ws2019"),)), {})
    config = WebhookConfig("127.0.0.1", 0, linger_seconds=linger)
    server = WebhookServer(config, certificate, world, follower)
    context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    connector = aiohttp.TCPConnector(ssl=context)
    async with asyncio.TaskGroup() as group, aiohttp.ClientSession(connector=connector) as session:
        running = group.create_task(server.run(), name="webhook")
        await server.listening.wait()
        try:
            yield Served(server, session), certificate
        finally:
            server.stop.set()
            await running


async def test_a_review_is_answered_and_counted(tmp_path: Path) -> None:
    async with serving(tmp_path) as (served, _):
        status, answer = await served.post("/validate/warn?timeout=3s", review())
        assert status == 200
        assert answer["response"]["allowed"] is True
        assert answer["response"]["warnings"][0].startswith("WIN-SEC-034: ")
        status, answer = await served.post("/mutate", review())
        assert answer["response"]["uid"] == "u-1"
        assert await served.get("/healthz") == (200, "ok")
        assert await served.get("/readyz") == (200, "ok")
        status, text = await served.get("/metrics")
        said = 'winkube_webhook_reviews_total{answer="warned",path="/validate/warn"} 1.0'
        assert said in text
        assert 'winkube_webhook_warnings_total{rule="WIN-SEC-034"} 1.0' in text


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", 400),
        (b"not json", 400),
        (b"[" * 200_000, 400),
        (b'{"a":' * 900 + b"1" + b"}" * 900, 400),
        (b"x" * (MOST_BYTES + 1), 413),
        (b'{"kind":"Pod"}', 400),
        (review(operation="NONSENSE"), 400),
        (review(uid=None), 400),
    ],
    ids=["empty", "text", "brackets", "deep", "large", "kind", "operation", "uid"],
)
async def test_what_is_no_review_is_refused_and_the_next_is_answered(
    tmp_path: Path, body: Any, code: int
) -> None:
    async with serving(tmp_path) as (served, _):
        for path in ("/mutate", "/validate/enforce"):
            assert (await served.post(path, body))[0] == code
        assert (await served.post("/validate/warn", review()))[0] == 200


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"spec": None},
        {"spec": []},
        {"spec": {"containers": "x"}},
        {"spec": {"containers": [None, 5, {"image": 5, "securityContext": []}]}},
        {"metadata": [], "spec": {"os": {"name": "windows"}, "volumes": [1], "tolerations": {}}},
        {"metadata": {"ownerReferences": [1], "annotations": 7}, "spec": {"os": "windows"}},
        {"spec": {"os": {"name": "windows"}, "nodeSelector": [], "affinity": {"nodeAffinity": 1}}},
        {"spec": {"os": {"name": "windows"}, "runtimeClassName": {}, "containers": [{}]}},
        {"spec": {"os": {"name": "windows"}, "containers": [{"name": "a", "env": [{}] * 9}]}},
    ],
)
async def test_objects_of_no_shape_are_answered(tmp_path: Path, odd: Any) -> None:
    async with serving(tmp_path) as (served, _):
        for path in ("/mutate", "/validate/warn", "/validate/mutate-enforce"):
            for name, group in (("pods", ""), ("deployments", "apps"), ("cronjobs", "batch")):
                resource = {"group": group, "version": "v1", "resource": name}
                obj = odd if name == "pods" else {"kind": "Deployment", "spec": {"template": odd}}
                status, answer = await served.post(path, review(obj, resource=resource))
                assert status == 200
                assert "allowed" in answer["response"]


async def test_a_mode_that_is_none_is_not_found(tmp_path: Path) -> None:
    async with serving(tmp_path) as (served, _):
        assert (await served.post("/validate/off", review()))[0] == 404
        assert (await served.post("/validate/x", review()))[0] == 404
        assert (await served.post("/", review()))[0] == 404
        assert (await served.get("/mutate"))[0] == 405


async def test_a_slow_body_does_not_hold_others(tmp_path: Path) -> None:
    async with serving(tmp_path) as (served, _):
        context = ssl.create_default_context(cafile=str(tmp_path / "ca.crt"))
        _, writer = await asyncio.open_connection("127.0.0.1", served.server.port, ssl=context)
        writer.write(b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        await writer.drain()
        assert (await served.post("/validate/warn", review()))[0] == 200
        writer.close()


async def test_a_new_certificate_is_shown_and_a_broken_one_is_not(tmp_path: Path) -> None:
    async with serving(tmp_path) as (served, certificate):
        before = await shown(tmp_path, served.server.port)
        fresh = issue(tmp_path, "fresh")
        key = (tmp_path / "tls.key").read_bytes()
        (tmp_path / "tls.crt").write_bytes(fresh.cert.read_bytes())
        await certificate.refresh()  # the key is still the old one
        assert await shown(tmp_path, served.server.port) == before
        (tmp_path / "tls.key").write_bytes(fresh.key.read_bytes())
        await certificate.refresh()
        after = await shown(tmp_path, served.server.port)
        assert after != before
        assert key != fresh.key.read_bytes()
        (tmp_path / "tls.crt").unlink()
        await certificate.refresh()
        assert await shown(tmp_path, served.server.port) == after


async def shown(folder: Path, port: int) -> bytes | None:
    context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    found: bytes | None = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return found


def test_files_that_are_no_certificate_are_named(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("no")
    with pytest.raises(SettingError, match=str(tmp_path)):
        Certificate(tmp_path / "c", tmp_path / "k")


async def test_who_was_asked_is_answered_before_the_end(tmp_path: Path) -> None:
    async with serving(tmp_path, linger=0.3) as (served, _):
        context = ssl.create_default_context(cafile=str(tmp_path / "ca.crt"))
        reader, writer = await asyncio.open_connection("127.0.0.1", served.server.port, ssl=context)
        body = json.dumps(review()).encode()
        head = f"POST /validate/warn HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body[:10])
        await writer.drain()
        assert (await served.get("/healthz"))[0] == 200
        served.server.stop.set()
        # Still there, and no longer to be chosen.
        assert (await served.get("/readyz"))[0] == 503
        assert (await served.post("/validate/warn", review()))[0] == 200
        writer.write(body[10:])
        await writer.drain()
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        writer.close()


class Unsynced:
    def __init__(self) -> None:
        self.synced = asyncio.Event()

    async def run(self) -> None:
        await asyncio.Event().wait()


async def test_not_ready_until_the_nodes_are_known(tmp_path: Path) -> None:
    follower = Unsynced()
    async with serving(tmp_path, follower=follower) as (served, _):
        assert (await served.get("/readyz"))[0] == 503
        assert (await served.get("/healthz"))[0] == 200
        follower.synced.set()
        assert (await served.get("/readyz"))[0] == 200
