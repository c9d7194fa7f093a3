"""The kubelet's plain endpoints over TLS."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from winkube.kubelet.server.view import ContainerState


@pytest.fixture
async def kubelet(cluster: Any) -> AsyncIterator[aiohttp.ClientSession]:
    context = ssl.create_default_context(cafile=str(cluster.authority.ca_file))
    context.load_cert_chain(*cluster.authority.issue("admin", "system:masters"))
    connector = aiohttp.TCPConnector(ssl=context)
    async with aiohttp.ClientSession(cluster.kubelet_url, connector=connector) as session:
        yield session


def line(text: str) -> str:
    return f"2026-01-01T00:00:00.000000001Z stdout F {text}\n"


LOG = "/containerLogs/default/web/main"


async def test_health_follows_the_view(cluster: Any, kubelet: Any) -> None:
    async with kubelet.get("/healthz") as answer:
        assert (answer.status, await answer.text()) == (200, "ok")
    cluster.view.health = False
    async with kubelet.get("/healthz") as answer:
        assert answer.status == 500


async def test_pods_and_running_pods_are_lists(cluster: Any, kubelet: Any) -> None:
    cluster.view.items.append({"metadata": {"name": "done"}, "status": {"phase": "Succeeded"}})
    for path, count in (("/pods", 2), ("/runningpods/", 1)):
        async with kubelet.get(path) as answer:
            document = await answer.json()
            assert (document["kind"], len(document["items"])) == ("PodList", count)


async def test_metrics_are_prometheus_text(kubelet: Any) -> None:
    for path, sign in (("/metrics", "# HELP"), ("/metrics/resource", "node_cpu_usage_seconds")):
        async with kubelet.get(path) as answer:
            assert answer.status == 200
            assert sign in await answer.text()


async def test_run_gives_the_output(kubelet: Any) -> None:
    async with kubelet.post("/run/default/web/main", params={"cmd": "echo hello"}) as answer:
        assert await answer.text() == "hello\n"


async def test_log_options_are_honoured(cluster: Any, kubelet: Any) -> None:
    cluster.view.log.write_text("".join(line(str(number)) for number in range(10)))
    async with kubelet.get(LOG, params={"tailLines": "2"}) as answer:
        assert await answer.text() == "8\n9\n"
    async with kubelet.get(LOG, params={"limitBytes": "5"}) as answer:
        assert await answer.text() == "0\n1\n2"
    async with kubelet.get(LOG, params={"tailLines": "1", "timestamps": "true"}) as answer:
        assert await answer.text() == "2026-01-01T00:00:00.000000001Z 9\n"
    async with kubelet.get(LOG, params={"sinceTime": "2026-01-01T00:00:01Z"}) as answer:
        assert await answer.text() == ""


@pytest.mark.parametrize(
    "query",
    [{"tailLines": "-1"}, {"limitBytes": "0"}, {"sinceSeconds": "x"}, {"sinceTime": "yesterday"}],
    ids=["tail", "limit", "seconds", "time"],
)
async def test_senseless_log_options_are_refused(kubelet: Any, query: dict[str, str]) -> None:
    async with kubelet.get(LOG, params=query) as answer:
        assert answer.status == 400


async def test_log_of_what_is_not_there_says_what(cluster: Any, kubelet: Any) -> None:
    async with kubelet.get("/containerLogs/default/web/absent") as answer:
        assert answer.status == 404
    async with kubelet.get(LOG, params={"previous": "true"}) as answer:
        assert answer.status == 400
        assert "previous terminated container" in await answer.text()
    cluster.view.state = ContainerState.WAITING
    waiting = {"waiting": {"reason": "ImagePullBackOff"}}
    cluster.view.items[0]["status"]["containerStatuses"][0]["state"] = waiting
    async with kubelet.get(LOG) as answer:
        assert answer.status == 400
        said = await answer.text()
        assert (
            said
            == 'container "main" in pod "web" is waiting to start: trying and failing to pull image'
        )


async def test_followed_log_survives_rotation_and_ends_with_its_container(
    cluster: Any, kubelet: Any
) -> None:
    log = cluster.view.log
    log.write_text(line("before"))
    async with asyncio.timeout(20), kubelet.get(LOG, params={"follow": "true"}) as answer:
        assert await answer.content.readline() == b"before\n"
        log.rename(log.with_suffix(".1"))
        log.write_text(line("after"))
        assert await answer.content.readline() == b"after\n"
        cluster.view.container = "c2"
        assert await answer.content.read() == b""
