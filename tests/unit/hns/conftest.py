from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from winkube.base.clock import SystemClock
from winkube.hns.api import HnsApi
from winkube.hns.config import HnsConfig
from winkube.hns.store import MemoryStore
from winkube.testing.fake_dataplane import FakeDataplane

Json = dict[str, Any]
MakeApi = Callable[..., HnsApi]


@pytest.fixture
def make_api() -> MakeApi:
    def make(
        version: tuple[int, int] = (9, 5), store: MemoryStore | None = None, **more: Any
    ) -> HnsApi:
        nowhere = Path("/nonexistent")
        config = HnsConfig(nowhere, nowhere, version, "172.30.0.11", netns_prefix="wkt-", **more)
        api = HnsApi(config, store or MemoryStore(), FakeDataplane(), SystemClock())
        api.start()
        return api

    return make


@pytest.fixture
def api(make_api: MakeApi) -> HnsApi:
    return make_api()


@pytest.fixture
def network(api: HnsApi) -> str:
    return make_network(api)


def make_network(api: HnsApi, prefix: str = "10.244.1", name: str = "cbr0") -> str:
    routes = [{"NextHop": f"{prefix}.1", "DestinationPrefix": "0.0.0.0/0"}]
    subnets = [{"IpAddressPrefix": f"{prefix}.0/24", "Routes": routes}]
    settings = {"Name": name, "Type": "L2Bridge", "Ipams": [{"Type": "Static", "Subnets": subnets}]}
    return str(api.call("Network", "create", {"Settings": settings})["ID"])
