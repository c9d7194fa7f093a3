"""API servers that know the Windows rules: by our own step, or by asking our webhook over TLS."""

import contextlib
import http.client
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from tests.upstream.exchange import MERGE, Answer, Conversation, conversation

from winkube.rules.admission.mode import LABEL
from winkube.testing.planes import Make, Plane, api_server, free_port, process

HOOKS = "/apis/admissionregistration.k8s.io/v1"
PATIENCE = 60.0
NODE: dict[str, Any] = {
    "metadata": {
        "name": "win-1",
        "labels": {
            "kubernetes.io/os": "windows",
            "node.kubernetes.io/windows-build": "10.0.17763",
        },
    },
    "spec": {"taints": [{"key": "os", "value": "windows", "effect": "NoSchedule"}]},
    "status": {
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": "",
            "containerRuntimeVersion": "containerd://1.7.0",
            "kernelVersion": "10.0.17763.1",
            "kubeProxyVersion": "",
            "kubeletVersion": "v1.34.0",
            "machineID": "",
            "operatingSystem": "windows",
            "osImage": "Windows Server 2019",
            "systemUUID": "",
        }
    },
}
_WINE = {"metadata": {"name": "wcow"}, "handler": "runhcs-wcow-process"}


@dataclass(frozen=True, slots=True)
class Stage:
    plane: Plane
    talk: Conversation
    hook: "Hook | None"

    def space(self, name: str, mode: str | None) -> str:
        labels = {} if mode is None else {LABEL: mode}
        made = self.talk.ask(
            "POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}}
        )
        assert made.status in (201, 409), made
        account = {"metadata": {"name": "default"}}
        self.talk.ask("POST", f"/api/v1/namespaces/{name}/serviceaccounts", account)
        return name

    def create(self, space: str, body: dict[str, Any], query: str = "") -> Answer:
        plural, root = COLLECTIONS[body.get("kind", "Pod")]
        return self.talk.ask("POST", f"{root}/namespaces/{space}/{plural}{query}", body)

    def until(self, what: str, holds: Any) -> None:
        """Upstream's server learns of configurations and labels when it hears of them."""
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < deadline, f"never happened: {what}"
            time.sleep(0.1)


COLLECTIONS = {
    "Pod": ("pods", "/api/v1"),
    "ReplicationController": ("replicationcontrollers", "/api/v1"),
    "Deployment": ("deployments", "/apis/apps/v1"),
    "ReplicaSet": ("replicasets", "/apis/apps/v1"),
    "DaemonSet": ("daemonsets", "/apis/apps/v1"),
    "Job": ("jobs", "/apis/batch/v1"),
    "CronJob": ("cronjobs", "/apis/batch/v1"),
}


class Hook:
    """``winkube webhook serve`` as a process, which can be stopped and started."""

    def __init__(self, plane: Plane) -> None:
        self.plane = plane
        self.folder = plane.folder / "webhook"
        self.port = free_port()
        self._running = contextlib.ExitStack()

    def manifests(self, *options: str) -> list[dict[str, Any]]:
        command = [sys.executable, "-m", "winkube", "webhook", "manifests"]
        command += [f"--url=https://127.0.0.1:{self.port}", f"--certificates={self.folder}"]
        made = subprocess.run([*command, *options], check=True, capture_output=True, text=True)
        return list(yaml.safe_load_all(made.stdout))

    def start(self, kubeconfig: Path | None = None) -> None:
        config = kubeconfig or self.plane.kubeconfig()
        command = [sys.executable, "-m", "winkube", "webhook", "serve"]
        command += [f"--listen=127.0.0.1:{self.port}", f"--kubeconfig={config}"]
        command += [f"--cert={self.folder / 'tls.crt'}", f"--key={self.folder / 'tls.key'}"]
        log = self.plane.folder / "webhook.log"
        self._running.enter_context(process(command, log))
        deadline = time.monotonic() + PATIENCE
        while self.get("/readyz")[0] != 200:
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)

    def stop(self) -> None:
        self._running.close()

    def get(self, path: str) -> tuple[int, str]:
        context = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=5)
        with contextlib.closing(connection), contextlib.suppress(OSError):
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        return 0, ""


def configure(talk: Conversation, documents: list[dict[str, Any]]) -> None:
    for document in documents:
        plural = f"{document['kind'].lower()}s"
        made = talk.ask("POST", f"{HOOKS}/{plural}", document)
        if made.status == 409:
            name = document["metadata"]["name"]
            made = talk.ask("PATCH", f"{HOOKS}/{plural}/{name}", document, type=MERGE)
        assert made.status in (200, 201), made


@contextmanager
def stage(make: Make, folder: Path, *, asks: bool) -> Iterator[Stage]:
    """An API server with a Windows node; ``asks``: it has to ask the webhook."""
    with api_server(make, folder) as plane, conversation(plane.client) as talk:
        assert talk.ask("POST", "/api/v1/nodes", NODE).status == 201
        assert talk.ask("POST", "/apis/node.k8s.io/v1/runtimeclasses", _WINE).status == 201
        if not asks:
            yield Stage(plane, talk, None)
            return
        hook = Hook(plane)
        documents = hook.manifests()
        hook.start()
        try:
            configure(talk, documents)
            yield Stage(plane, talk, hook)
        finally:
            hook.stop()
