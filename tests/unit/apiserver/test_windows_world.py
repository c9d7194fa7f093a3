"""The first Windows node is waited for, however it comes."""

import asyncio

import pytest

from winkube.apiserver.admission.windows_world import first_windows_node
from winkube.apiserver.cache import ResourceCache
from winkube.apiserver.item import Item

PREFIX = "/registry/minions/"


def node(name: str, system: str, revision: int) -> Item:
    data = b'{"metadata":{"labels":{"kubernetes.io/os":"%b"}}}' % system.encode()
    return Item(PREFIX + name, data, revision, ("", name))


@pytest.fixture
def nodes() -> ResourceCache:
    return ResourceCache(PREFIX, queue=2)


async def test_one_that_is_there_is_enough(nodes: ResourceCache) -> None:
    nodes.load([node("a", "linux", 1), node("b", "windows", 2)], 2)
    await asyncio.wait_for(first_windows_node(nodes), 5)


@pytest.mark.parametrize("before", [0, 1, 5])
async def test_others_are_not_meant(nodes: ResourceCache, before: int) -> None:
    """Five are more than a watcher may be behind."""
    waiting = asyncio.ensure_future(first_windows_node(nodes))
    await asyncio.sleep(0)
    for number in range(before):
        nodes.put(node(f"l{number}", "linux", number + 1), number + 1)
    await asyncio.sleep(0.01)
    assert not waiting.done()
    nodes.put(node("w", "windows", 9), 9)
    await asyncio.wait_for(waiting, 5)
    assert nodes.watchers == 0
