"""The miniature cluster as a fixture, on both kinds of event loop."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop
from tests.integration.streaming.authority import Authority
from tests.integration.streaming.authority import make_authority as _make
from tests.integration.streaming.mini_cluster import Cluster, running_cluster


@pytest.hookimpl(optionalhook=True)
def pytest_asyncio_loop_factories() -> dict[str, Any]:
    """Taking a connection over leans on the transports, so both kinds of loop are tried."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture
def make_authority() -> Callable[[Path], Authority]:
    return _make


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return _make(tmp_path / "pki")


@pytest.fixture
async def cluster(authority: Authority, tmp_path: Path) -> AsyncIterator[Cluster]:
    async with running_cluster(authority, tmp_path) as running:
        yield running
