import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from winkube.hns.aclient import AsyncHnsClient
from winkube.hns.client import HnsClient
from winkube.hns.config import HnsConfig
from winkube.hns.errors import Code, HnsError, HnsUnavailableError
from winkube.hns.service import HnsService
from winkube.testing.fake_dataplane import FakeDataplane

NETWORK = {
    "Name": "cbr0",
    "Type": "L2Bridge",
    "Ipams": [{"Subnets": [{"IpAddressPrefix": "10.244.1.0/24"}]}],
}


@pytest.fixture
def socket(tmp_path: Path) -> Iterator[Path]:
    """A service in a thread of its own, with a dataplane that only remembers."""
    config = HnsConfig(tmp_path / "hns.sock", tmp_path / "state", (9, 5), "172.30.0.11")
    loop = asyncio.new_event_loop()
    started = threading.Event()
    tasks: list[asyncio.Task[None]] = []

    async def body() -> None:
        service = HnsService(config, FakeDataplane())
        async with asyncio.TaskGroup() as group:
            tasks.append(group.create_task(service.run(), name="hns"))
            await service.ready.wait()
            started.set()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(body())

    thread = threading.Thread(target=run)
    thread.start()
    assert started.wait(10)
    yield config.socket
    loop.call_soon_threadsafe(tasks[0].cancel)
    thread.join(10)
    assert not thread.is_alive()
    assert not config.socket.exists()


def test_the_plain_client_speaks_both_interfaces(socket: Path) -> None:
    with HnsClient(socket) as client:
        made = client.create("Network", NETWORK)
        assert client.enumerate("Network", {"Name": "cbr0"}) == [made["ID"]]
        assert client.query("Network", made["ID"]) == made
        assert client.list("Network") == [made]
        assert client.v1("GET", "/networks/")[0]["Name"] == "cbr0"
        assert client.v1("GET", "/globals/version") == {"Major": 9, "Minor": 5}
        for _ in range(2):
            client.delete("Network", made["ID"])
        with pytest.raises(HnsError, match=r"hcnOpenNetwork failed in Win32: .* \(0x490\)"):
            client.query("Network", made["ID"])
        with pytest.raises(HnsError, match="hns failed with error : "):
            client.v1("GET", f"/networks/{made['ID']}")


async def test_the_asyncio_client_says_the_same(socket: Path) -> None:
    async with AsyncHnsClient(socket) as client:
        made = await client.create("Network", NETWORK)
        assert await client.list("Network", {"ID": made["ID"].lower()}) == [made]
        with pytest.raises(HnsError) as caught:
            await client.create("Network", NETWORK)
        assert caught.value.code == Code.NETWORK_ALREADY_EXISTS
        request = {
            "ResourceType": "DNS",
            "RequestType": "Update",
            "Settings": {"ServerList": ["10.96.0.10"]},
        }
        changed = await client.modify("Network", made["ID"], request)
        assert changed["Dns"] == {"ServerList": ["10.96.0.10"]}
        for _ in range(2):
            await client.delete("Network", made["ID"])
        assert await client.enumerate("Network") == []


def test_bad_requests_get_hns_answers_and_the_service_lives(socket: Path) -> None:
    with HnsClient(socket) as client:
        for kind, verb in (("Carrot", "create"), ("Network", "boil")):
            with pytest.raises((HnsError, KeyError)):
                client._call(kind, verb, {})
        status, raw = client._exchange(
            b"POST /hcn/Network/create HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n{]}"
        )
        assert (status, b"0x" not in raw, b"JSON document is invalid" in raw) == (400, True, True)
        deep = b"[" * 100_000
        head = (
            f"POST /hcn/Network/create HTTP/1.1\r\nHost: h\r\nContent-Length: {len(deep)}\r\n\r\n"
        )
        assert client._exchange(head.encode() + deep)[0] == 400
        bodies: list[Any] = [
            [1],
            {"Settings": 3},
            {"Settings": {"Ipams": {"a": 1}}},
            {"Id": "../x"},
        ]
        for body in bodies:
            with pytest.raises(HnsError):
                client._call("Network", "create", body)
        assert client.list("Network") == []


def test_no_service_is_the_code_kube_proxy_looks_for(tmp_path: Path) -> None:
    with (
        HnsClient(tmp_path / "none.sock") as client,
        pytest.raises(HnsUnavailableError, match="0x6b5"),
    ):
        client.list("Network")


async def test_no_service_is_the_same_for_the_asyncio_client(tmp_path: Path) -> None:
    async with AsyncHnsClient(tmp_path / "none.sock") as client:
        with pytest.raises(HnsUnavailableError, match="0x6b5"):
            await client.list("Network")
