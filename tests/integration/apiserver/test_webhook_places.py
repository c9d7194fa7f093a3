"""Where webhooks are found, and what beside objects they are asked about."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.integration.apiserver.webhook_server import Configured, Webhook, allow, deny, patch

from winkube.apiserver.admission.webhook import caller
from winkube.apiserver.aggregation.remote import endpoints

_ALL = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}


@pytest.fixture
def service(api: Any, hook: Webhook, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """A reference to a service whose endpoint is the webhook (slices may not name loopback)."""
    monkeypatch.setattr(
        caller,
        "endpoints",
        lambda *args: [("127.0.0.1", port) for _, port in endpoints(*args)],
    )
    api("POST", "/api/v1/namespaces", {"metadata": {"name": "hooks"}})
    ports = [{"name": "other", "port": 80}, {"name": "hook", "port": 8443, "targetPort": 9}]
    path = "/api/v1/namespaces/hooks/services"
    api("POST", path, {"metadata": {"name": "hook"}, "spec": {"ports": ports}})
    yield {"namespace": "hooks", "name": "hook", "port": 8443, "path": "/m"}
    api("DELETE", f"{path}/hook")
    api("DELETE", "/apis/discovery.k8s.io/v1/namespaces/hooks/endpointslices")


def _endpoint(api: Any, hook: Webhook, *, ready: bool = True) -> None:
    slice_ = {
        "metadata": {"generateName": "hook-", "labels": {"kubernetes.io/service-name": "hook"}},
        "addressType": "IPv4",
        "ports": [{"name": "hook", "port": int(hook.url.rpartition(":")[2])}],
        "endpoints": [{"addresses": ["10.9.9.9"], "conditions": {"ready": ready}}],
    }
    made = api("POST", "/apis/discovery.k8s.io/v1/namespaces/hooks/endpointslices", slice_)
    assert made.status == 201, made.body


def test_a_webhook_behind_a_service_is_asked_at_its_endpoint(
    api: Any, hook: Webhook, configured: Configured, service: dict[str, Any]
) -> None:
    config = hook.config("m", clientConfig={"service": service, "caBundle": hook.ca})
    assert configured("mutating", config).status == 201
    said = 'failed calling webhook "m.example.com": failed to call webhook: Post '
    url = '"https://hook.hooks.svc:8443/m?timeout=10s"'
    refused = configured.create("a")
    assert refused.body["message"] == (
        f'Internal error occurred: {said}{url}: no endpoints available for service "hook"'
    )
    _endpoint(api, hook, ready=False)
    assert configured.create("a").status == 500
    _endpoint(api, hook)
    hook.answers["m"] = lambda request: deny(request, message="seen")
    denied = configured.create("a")
    assert denied.body["message"] == (
        'admission webhook "m.example.com" denied the request: seen'
    ), denied.body
    assert [path for path, _ in hook.asked] == ["/m?timeout=10s"]


def test_what_a_service_reference_lacks_is_said(
    hook: Webhook, configured: Configured, service: dict[str, Any]
) -> None:
    wrong: tuple[dict[str, Any], ...] = ({"name": "none"}, {"port": 1})
    hooks = [
        hook.config(f"m{number}", clientConfig={"service": service | each, "caBundle": hook.ca})
        for number, each in enumerate(wrong)
    ]
    assert configured("validating", hooks[0]).status == 201
    assert 'service "none" not found' in configured.create("a").body["message"]
    configured.clean()
    assert configured("validating", hooks[1]).status == 201
    refused = configured.create("a").body["message"]
    assert 'no service port 1 found for service "hook"' in refused


def test_a_large_answer_is_read_to_its_end(hook: Webhook, configured: Configured) -> None:
    text = "x" * 700_000
    hook.answers["m"] = lambda request: patch(
        request, {"op": "add", "path": "/data", "value": {"text": text}}
    )
    assert configured("mutating", hook.config("m")).status == 201
    made = configured.create("large")
    assert made.status == 201, made.body
    assert made.body["data"]["text"] == text


@pytest.fixture
def pod(api: Any, space: str) -> str:
    path = f"/api/v1/namespaces/{space}/pods"
    api("POST", f"/api/v1/namespaces/{space}/serviceaccounts", {"metadata": {"name": "default"}})
    spec = {"containers": [{"name": "c", "image": "i"}], "automountServiceAccountToken": False}
    made = api("POST", path, {"metadata": {"name": "p"}, "spec": spec})
    assert made.status == 201, made.body
    return f"{path}/p"


_CONNECTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "POST exec?command=a&command=b&stdin=true&container=c": (
        "PodExecOptions",
        {"command": ["a", "b"], "container": "c", "stdin": True},
    ),
    "GET exec": ("PodExecOptions", {"command": None}),
    "POST attach?tty=1&stdout=true": ("PodAttachOptions", {"stdout": True, "tty": True}),
    "POST portforward?ports=80&ports=81": ("PodPortForwardOptions", {"ports": [80, 81]}),
    "GET portforward": ("PodPortForwardOptions", {}),
    "GET proxy": ("PodProxyOptions", {}),
    "GET proxy/": ("PodProxyOptions", {"path": "/"}),
    "PUT proxy/a/b/?x=1": ("PodProxyOptions", {"path": "/a/b/"}),
}


@pytest.mark.parametrize("asked", _CONNECTIONS)
def test_connections_are_asked_about(
    api: Any, hook: Webhook, configured: Configured, pod: str, asked: str
) -> None:
    """As upstream's server asks, before it looks for the pod."""
    assert configured("validating", hook.config("m", rules=[_ALL])).status == 201
    hook.answers["m"] = lambda request: deny(request, message="no")
    method, _, path = asked.partition(" ")
    kind, options = _CONNECTIONS[asked]
    refused = api(method, f"{pod}/{path}")
    assert refused.body["message"] == 'admission webhook "m.example.com" denied the request: no'
    [(_, request)] = hook.asked
    assert request["object"] == {"kind": kind, "apiVersion": "v1", **options}
    assert request["kind"] == {"group": "", "version": "v1", "kind": kind}
    part = path.partition("?")[0].partition("/")[0]
    found = [request[name] for name in ("operation", "name", "subResource", "oldObject", "options")]
    assert found == ["CONNECT", "p", part, None, None]
    assert request["resource"] == {"group": "", "version": "v1", "resource": "pods"}


def test_what_a_webhook_makes_of_a_connection_is_what_happens(
    api: Any, hook: Webhook, configured: Configured, pod: str
) -> None:
    assert configured("mutating", hook.config("m", rules=[_ALL])).status == 201
    change = {"op": "add", "path": "/container", "value": "other"}
    hook.answers["m"] = lambda request: patch(request, change)
    refused = api("POST", f"{pod}/exec?command=a")
    assert refused.body["message"] == "container other is not valid for pod p"
    change["value"] = 3  # type: ignore[assignment]
    assert api("POST", f"{pod}/exec?command=a").status == 500
    hook.answers["m"] = allow
    refused = api("POST", f"{pod}/exec?command=a")
    assert refused.body["message"] == "pod p does not have a host assigned"
    refused = api("POST", f"{pod}/exec?command=a&dryRun=All")
    assert refused.body["message"] == "dryRun is not supported"
