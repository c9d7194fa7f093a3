"""A webhook of our own: answers as the test tells it, and remembers what it was asked."""

import base64
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_GROUP = "/apis/admissionregistration.k8s.io/v1"

Answer = Callable[[dict[str, Any]], Any]


@dataclass
class Webhook:
    url: str
    ca: str
    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def config(self, path: str, **fields: Any) -> dict[str, Any]:
        """One entry of a configuration."""
        rule = {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE", "UPDATE"],
            "resources": ["configmaps"],
        }
        return {
            "name": f"{path}.example.com",
            "clientConfig": {"url": f"{self.url}/{path}", "caBundle": self.ca},
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **fields,
        }


class Configured:
    def __init__(self, api: Any, space: str) -> None:
        self._api, self._space = api, space
        self._made: list[str] = []
        self.maps = f"/api/v1/namespaces/{space}/configmaps"

    def __call__(self, kind: str, *webhooks: dict[str, Any], name: str = "a") -> Any:
        here = {"matchLabels": {"kubernetes.io/metadata.name": self._space}}
        listed = [{"namespaceSelector": here, **webhook} for webhook in webhooks]
        path = f"{_GROUP}/{kind}webhookconfigurations"
        made = self._api(
            "POST", path, {"metadata": {"name": f"{self._space}-{name}"}, "webhooks": listed}
        )
        if made.status == 201:
            self._made.append(f"{path}/{self._space}-{name}")
        return made

    def create(self, name: str = "m", query: str = "", **metadata: Any) -> Any:
        return self._api("POST", self.maps + query, {"metadata": {"name": name, **metadata}})

    def clean(self) -> None:
        for path in self._made:
            self._api("DELETE", path)


def allow(request: dict[str, Any], **fields: Any) -> dict[str, Any]:
    response = {"uid": request["uid"], "allowed": True, **fields}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


def deny(request: dict[str, Any], **status: Any) -> dict[str, Any]:
    return allow(request, allowed=False, **({"status": status} if status else {}))


def patch(request: dict[str, Any], *operations: dict[str, Any]) -> dict[str, Any]:
    text = base64.b64encode(json.dumps(list(operations)).encode()).decode()
    return allow(request, patch=text, patchType="JSONPatch")


@contextmanager
def webhook_server(cert: Path, key: Path, ca: Path) -> Iterator[Webhook]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            request = json.loads(body)["request"]
            path = self.path.partition("?")[0].strip("/")
            hook.asked.append((self.path, request))
            answer: Answer = hook.answers.get(path, allow)
            said = answer(request)
            status, data = said if isinstance(said, tuple) else (200, json.dumps(said).encode())
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    bundle = base64.b64encode(ca.read_bytes()).decode()
    hook = Webhook(f"https://127.0.0.1:{server.server_port}", bundle)
    thread = threading.Thread(target=server.serve_forever, name="webhook")
    thread.start()
    try:
        yield hook
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
