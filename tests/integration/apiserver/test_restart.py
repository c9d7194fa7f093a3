"""What was acknowledged survives kill -9; a restarted server goes on where the old one stopped."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SERVE = """
import pickle, socket, sys, dataclasses
import uvloop
from winkube.apiserver.config import ApiServerConfig
from winkube.apiserver.server import ApiServer
fields = pickle.load(open(sys.argv[1], "rb"))
sock = socket.socket(fileno=int(sys.argv[2]))
config = ApiServerConfig(sockets=(sock,), **fields)

async def main():
    await ApiServer(config).run()

uvloop.run(main())
"""
PATIENCE = 120.0


class Process:
    """An API server in a process of its own, to be killed."""

    def __init__(self, fields: Path, sock: socket.socket) -> None:
        self._command = [sys.executable, "-c", SERVE, str(fields), str(sock.fileno())]
        self._sock = sock
        self.child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.child = subprocess.Popen(self._command, pass_fds=(self._sock.fileno(),))

    def kill(self) -> None:
        if self.child is not None:
            os.kill(self.child.pid, signal.SIGKILL)
            self.child.wait()
            self.child = None


@pytest.fixture
def process(
    tmp_path: Path, own_server: Callable[..., Any]
) -> Iterator[tuple[Process, Callable[..., Any]]]:
    fields, sock, api = own_server(tmp_path)
    process = Process(fields, sock)
    process.start()
    yield process, api
    process.kill()
    sock.close()


def wait_ready(api: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            if api("GET", "/readyz").status == 200:
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the server did not become ready")


def test_every_acknowledged_write_survives_kill(process: Any) -> None:
    server, api = process
    wait_ready(api)
    acknowledged: list[str] = []
    stop = threading.Event()

    def write(worker: int) -> None:
        for number in range(10_000):
            name = f"w{worker}-{number}"
            body = {"metadata": {"name": name}}
            try:
                answer = api("POST", "/api/v1/namespaces/default/configmaps", body)
            except OSError:
                return
            if answer.status == 201:
                acknowledged.append(name)
            if stop.is_set():
                return

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    enough = time.monotonic() + PATIENCE
    while len(acknowledged) <= 20 and time.monotonic() < enough:
        time.sleep(0.01)
    server.kill()
    stop.set()
    # A new server on the same socket also frees writers whose connection was still queued there.
    server.start()
    for thread in threads:
        thread.join(PATIENCE)
    wait_ready(api)
    listed = api("GET", "/api/v1/namespaces/default/configmaps").body["items"]
    assert len(acknowledged) > 20
    assert set(acknowledged) <= {item["metadata"]["name"] for item in listed}


def test_restarted_server_keeps_addresses_and_expires_old_watches(process: Any) -> None:
    server, api = process
    wait_ready(api)
    services = "/api/v1/namespaces/default/services"
    spec = {"ports": [{"port": 80}], "selector": {"a": "b"}}
    address = api("POST", services, {"metadata": {"name": "s"}, "spec": spec}).body["spec"][
        "clusterIP"
    ]
    server.kill()
    server.start()
    wait_ready(api)
    taken = {**spec, "clusterIP": address}
    refused = api("POST", services, {"metadata": {"name": "t"}, "spec": taken})
    assert refused.status == 422
    with api.watch(f"{services}?watch=1&resourceVersion=1") as take:
        event = take()
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
