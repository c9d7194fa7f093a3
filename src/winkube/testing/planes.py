"""Control planes of two makes, process by process: winkube's and upstream's.

Every part is a process of its own on loopback, so that any can be replaced by the other make's,
or killed. ``upstream_folder`` says where ``make upstream`` put the programs, or None: tests that
compare live are then skipped, and recorded answers are compared instead.
"""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from winkube.base.errors import WinkubeError
from winkube.client.config import ClientConfig
from winkube.testing.keys import Keys

Make = Literal["winkube", "upstream"]
SERVICE_CIDR: Final = "10.96.0.0/12"
CLUSTER_CIDR: Final = "10.244.0.0/16"
# A busy machine needs minutes for upstream's; one that ends is not waited for.
_START_SECONDS: Final = 300.0
_STOP_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.02


class PlaneError(WinkubeError):
    pass


@dataclass(frozen=True, slots=True)
class Plane:
    """One API server that answers; ``pids`` are its own process and its store's, if it has one."""

    make: Make
    keys: Keys
    port: int
    pids: tuple[int, ...]

    @property
    def folder(self) -> Path:
        return self.keys.folder

    @property
    def client(self) -> ClientConfig:
        return self.keys.client(self.port)

    def kubeconfig(self, user: str = "", groups: tuple[str, ...] = ()) -> Path:
        return self.keys.kubeconfig(self.port, self.keys.issue(user, groups) if user else None)


def upstream_folder() -> Path | None:
    """Where the upstream programs are, when all were built."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    home = Path(os.environ.get("WINKUBE_UPSTREAM") or Path(cache) / "winkube" / "upstream")
    folder = home / _upstream_version()
    return folder if (folder / "complete").exists() and (folder / "etcd").exists() else None


def _upstream_version() -> str:
    module = Path(__file__).parents[3] / "tools" / "upstream" / "go.mod"
    found = re.search(r"^require k8s\.io/kubernetes (v\S+)$", module.read_text(), re.MULTILINE)
    assert found is not None, f"{module} names no version"
    return found[1]


@contextmanager
def api_server(make: Make, folder: Path, extra: Sequence[str] = ()) -> Iterator[Plane]:
    """An API server with an empty store; ``extra`` are more of upstream's flags."""
    folder.mkdir(parents=True, exist_ok=True)
    keys = Keys(folder)
    keys.write()
    with contextlib.ExitStack() as stack:
        port = free_port()
        store: tuple[int, ...] = ()
        if make == "winkube":
            command = [*_our_part("apiserver", folder, port), *extra]
        else:
            url = f"http://127.0.0.1:{free_port()}"
            store = (stack.enter_context(_etcd(folder, url)),)
            command = [*_upstream_api_server(keys, port, url), *extra]
        pid = stack.enter_context(process(command, folder / f"{make}-apiserver.log"))
        plane = Plane(make, keys, port, (pid, *store))
        _await_ready(plane)
        yield plane


@contextmanager
def restarted(plane: Plane) -> Iterator[Plane]:
    """Kill winkube's API server, as nothing may end it, and begin it anew on what it stored."""
    os.kill(plane.pids[0], signal.SIGKILL)
    # The port is free when the process is gone.
    os.waitid(os.P_PID, plane.pids[0], os.WEXITED | os.WNOWAIT)
    command = _our_part("apiserver", plane.folder, plane.port)
    with process(command, plane.folder / f"{plane.make}-apiserver.log") as pid:
        again = replace(plane, pids=(pid,))
        _await_ready(again)
        yield again


@contextmanager
def controllers(make: Make, plane: Plane, extra: Sequence[str] = ()) -> Iterator[int]:
    if make == "winkube":
        command = [*_our_part("controllers", plane.folder, plane.port), *extra]
    else:
        command = [*_upstream_controllers(plane), *extra]
    with process(command, plane.folder / f"{make}-controllers.log") as pid:
        yield pid


@contextmanager
def scheduler(make: Make, plane: Plane, extra: Sequence[str] = ()) -> Iterator[int]:
    if make == "winkube":
        command = [*_our_part("scheduler", plane.folder, plane.port), *extra]
    else:
        command = [
            str(_program("kube-scheduler")),
            f"--kubeconfig={plane.kubeconfig('system:kube-scheduler')}",
            "--leader-elect=false",
            "--secure-port=0",
            *extra,
        ]
    with process(command, plane.folder / f"{make}-scheduler.log") as pid:
        yield pid


@contextmanager
def nodes(
    plane: Plane, *fleets: Mapping[str, Any] | int, renew_seconds: float = 10.0
) -> Iterator[int]:
    """Simulated nodes: fields of a NodeSpec each, with ``count`` many of a kind; or a number."""
    specs = [{"name": "node", "count": f} if isinstance(f, int) else dict(f) for f in fleets]
    part = _our_part("nodes", plane.folder, plane.port)
    command = [*part, str(renew_seconds), *map(json.dumps, specs)]
    with process(command, plane.folder / "nodes.log") as pid:
        yield pid


@contextmanager
def process(command: Sequence[str], log: Path) -> Iterator[int]:
    """Run ``command`` until the block ends; what it says goes to ``log``."""
    with log.open("ab") as out:
        # Also a test that is killed leaves no servers behind.
        bound = ["setpriv", "--pdeathsig", "TERM", *command]
        child = subprocess.Popen(bound, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
    try:
        yield child.pid
    finally:
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _our_part(part: str, folder: Path, port: int) -> list[str]:
    return [sys.executable, "-m", "winkube.testing.part", part, str(folder), str(port)]


def _program(name: str) -> Path:
    folder = upstream_folder()
    if folder is None:
        raise PlaneError(f"{name} is not built: run `make upstream`")
    return folder / name


@contextmanager
def _etcd(folder: Path, client: str) -> Iterator[int]:
    peer = f"http://127.0.0.1:{free_port()}"
    command = [
        str(_program("etcd")),
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--log-level=error",
    ]
    with process(command, folder / "etcd.log") as pid:
        yield pid


def _upstream_api_server(keys: Keys, port: int, etcd: str) -> list[str]:
    return [
        str(_program("kube-apiserver")),
        f"--etcd-servers={etcd}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        f"--secure-port={port}",
        f"--tls-cert-file={keys.server.cert}",
        f"--tls-private-key-file={keys.server.key}",
        f"--client-ca-file={keys.ca}",
        f"--kubelet-client-certificate={keys.admin.cert}",
        f"--kubelet-client-key={keys.admin.key}",
        f"--requestheader-client-ca-file={keys.ca}",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={keys.admin.cert}",
        f"--proxy-client-key-file={keys.admin.key}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={keys.service_account}",
        f"--service-account-signing-key-file={keys.service_account}",
        f"--service-cluster-ip-range={SERVICE_CIDR}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        "--enable-aggregator-routing=true",
    ]


def _upstream_controllers(plane: Plane) -> list[str]:
    keys = plane.keys
    return [
        str(_program("kube-controller-manager")),
        f"--kubeconfig={plane.kubeconfig('system:kube-controller-manager')}",
        "--leader-elect=false",
        "--secure-port=0",
        "--allocate-node-cidrs=true",
        f"--cluster-cidr={CLUSTER_CIDR}",
        f"--service-cluster-ip-range={SERVICE_CIDR}",
        f"--root-ca-file={keys.ca}",
        f"--cluster-signing-cert-file={keys.ca}",
        f"--cluster-signing-key-file={keys.ca_key}",
        f"--service-account-private-key-file={keys.service_account}",
        "--use-service-account-credentials=true",
    ]


def _await_ready(plane: Plane) -> None:
    deadline = time.monotonic() + _START_SECONDS
    context = plane.client.ssl_context()
    while time.monotonic() < deadline:
        if not _alive(plane.pids[0]):
            break
        with contextlib.suppress(OSError, http.client.HTTPException):
            if _is_ready(plane.port, context):
                return
        time.sleep(_POLL_SECONDS)
    log = plane.folder / f"{plane.make}-apiserver.log"
    last = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
    raise PlaneError(f"the {plane.make} API server did not become ready:\n{last}")


def _is_ready(port: int, context: ssl.SSLContext | None) -> bool:
    """Ready, and the namespace that every client begins with is there."""
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=5)
    try:
        for path in ("/readyz", "/api/v1/namespaces/default"):
            connection.request("GET", path)
            response = connection.getresponse()
            response.read()
            if response.status != http.client.OK:
                return False
        return True
    finally:
        connection.close()


def _alive(pid: int) -> bool:
    """Whether the child runs; one that ended but was not waited for is a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
