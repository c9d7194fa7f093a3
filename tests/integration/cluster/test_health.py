import asyncio
import ssl
from pathlib import Path

import aiohttp
from tests.integration.streaming.authority import make_authority

from winkube.cluster.health import Health
from winkube.cluster.pki import Pair


async def test_a_port_answers_for_its_own_part(tmp_path: Path) -> None:
    pair = Pair(*make_authority(tmp_path / "ca").issue("health"))
    starting, running = asyncio.Event(), asyncio.Event()
    running.set()
    health = [Health({0: part}, pair) for part in (starting, running)]
    anyone = ssl.create_default_context()
    anyone.check_hostname, anyone.verify_mode = False, ssl.CERT_NONE
    async with asyncio.TaskGroup() as group, aiohttp.ClientSession() as session:
        tasks = [group.create_task(each.run(), name="health") for each in health]
        found = []
        for each in health:
            await each.ready.wait()
            url = f"https://127.0.0.1:{each.ports[0]}/healthz"
            async with session.get(url, ssl=anyone) as answer:
                found.append((answer.status, await answer.text()))
        for task in tasks:
            task.cancel()
    assert found == [(503, ""), (200, "ok")]
