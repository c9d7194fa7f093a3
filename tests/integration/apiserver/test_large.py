"""Requests about large objects: whoever asks for little meanwhile is answered.

The server is a process of its own. What is judged is how many small requests are answered between
the beginning and the end of a large one: a server that does one thing at a time answers those
that came just before and just after.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from winkube.base.types import JsonObject
from winkube.testing.planes import Plane, api_server
from winkube.testing.tasks import running

ROOT = "/api/v1/namespaces/default"
MANY = 20_000
# One after the other: without a thread there are about ten, from before and after.
FEWEST = 40
JSON = "application/json"
YAML = "application/yaml"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"


@dataclass
class Small:
    """Asks for little, over and over."""

    session: aiohttp.ClientSession
    answered: int = 0

    async def run(self) -> None:
        while True:
            async with self.session.get("/api/v1/namespaces/default") as answer:
                assert answer.status == 200, await answer.text()
            self.answered += 1


@dataclass
class Large:
    session: aiohttp.ClientSession
    small: Small
    answered: dict[str, int] = field(default_factory=dict)

    async def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> int:
        """The status; and how many others were answered meanwhile."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        data = None if body is None else orjson.dumps(body)
        sent.setdefault("Content-Type", JSON)
        before = self.small.answered
        async with self.session.request(method, ROOT + path, data=data, headers=sent) as answer:
            await answer.read()
        self.answered[f"{method} {path}"] = self.small.answered - before
        return answer.status


def session(plane: Plane) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(ssl=plane.client.ssl_context() or True)
    return aiohttp.ClientSession(f"https://127.0.0.1:{plane.port}", connector=connector)


@pytest.fixture
async def large(tmp_path: Path) -> AsyncIterator[Large]:
    with api_server("winkube", tmp_path) as plane:
        async with session(plane) as one, session(plane) as other:
            small = Small(other)
            async with running(small.run()):
                yield Large(one, small)


def endpoints(count: int) -> JsonObject:
    addresses = [{"ip": f"10.1.{n >> 8}.{n & 255}"} for n in range(count)]
    return {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": "many"},
        "subsets": [{"addresses": addresses, "ports": [{"port": 1}]}],
    }


async def test_others_are_answered_beside_writes_of_large_objects(large: Large) -> None:
    assert await large("POST", "/endpoints", endpoints(MANY)) == 201
    note = {"metadata": {"labels": {"a": "b"}}}
    assert await large("PATCH", "/endpoints/many", note, Content_Type=MERGE) == 200
    fresh = endpoints(MANY - 1)
    assert await large("PUT", "/endpoints/many", fresh) == 200
    owned = "/endpoints/many?fieldManager=me&force=true"
    assert await large("PATCH", owned, endpoints(MANY), Content_Type=APPLY) == 200
    assert min(large.answered.values()) >= FEWEST, large.answered


async def test_others_are_answered_beside_large_objects_in_other_forms(large: Large) -> None:
    assert await large("POST", "/endpoints", endpoints(MANY)) == 201
    large.answered.clear()
    assert await large("GET", "/endpoints/many", Accept=YAML) == 200
    assert await large("GET", "/endpoints", Accept=YAML) == 200
    assert min(large.answered.values()) >= FEWEST, large.answered


async def test_others_are_answered_beside_objects_that_are_refused(large: Large) -> None:
    bad = {f" {n}": "x" for n in range(MANY)}
    assert await large("POST", "/configmaps", {"metadata": {"name": "bad"}, "data": bad}) == 422
    assert min(large.answered.values()) >= FEWEST, large.answered
