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


_ACTIONS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "binding": (
        "pods/p/binding",
        "Binding",
        {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}},
        {"target": {"kind": "Node", "name": "n"}},
    ),
    "bindings": (
        "bindings",
        "Binding",
        {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}},
        {"target": {"kind": "Node", "name": "n"}},
    ),
    "eviction": (
        "pods/p/eviction",
        "Eviction",
        {"metadata": {"name": "p"}, "deleteOptions": {"gracePeriodSeconds": 1}},
        {"deleteOptions": {"gracePeriodSeconds": 1}},
    ),
    "token": (
        "serviceaccounts/default/token",
        "TokenRequest",
        {"spec": {"audiences": ["a"]}},
        {
            "spec": {"audiences": ["a"], "expirationSeconds": 3600, "boundObjectRef": None},
            "status": {"token": "", "expirationTimestamp": None},
        },
    ),
}


@pytest.mark.parametrize("action", _ACTIONS)
def test_what_is_made_to_be_acted_on_is_asked_about_and_not_done(
    api: Any, hook: Webhook, configured: Configured, pod: str, action: str
) -> None:
    assert configured("validating", hook.config("m", rules=[_ALL])).status == 201
    hook.answers["m"] = lambda request: deny(request, message="no")
    path, kind, body, shown = _ACTIONS[action]
    refused = api("POST", f"{pod.removesuffix('pods/p')}{path}", body)
    assert refused.body["message"] == 'admission webhook "m.example.com" denied the request: no'
    [(_, request)] = hook.asked
    assert request["operation"] == "CREATE"
    assert request["kind"]["kind"] == request["object"]["kind"] == kind
    assert request.get("subResource", "bindings") == action
    assert {name: request["object"][name] for name in shown} == shown
    configured.clean()
    found = api("GET", pod).body
    assert "nodeName" not in found["spec"]
    assert "deletionTimestamp" not in found["metadata"]


def test_an_eviction_is_not_asked_about_as_a_deletion(
    api: Any, hook: Webhook, configured: Configured, pod: str
) -> None:
    assert configured("validating", hook.config("m", rules=[_ALL])).status == 201
    assert api("POST", f"{pod}/eviction", {"metadata": {"name": "p"}}).status == 201
    asked = [(request["operation"], request.get("subResource")) for _, request in hook.asked]
    assert asked == [("CREATE", "eviction")]


def test_a_deletion_shows_its_options(
    api: Any, hook: Webhook, configured: Configured, pod: str
) -> None:
    assert configured("validating", hook.config("m", rules=[_ALL])).status == 201
    uid = api("GET", pod).body["metadata"]["uid"]
    wanted = {
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": uid},
        "propagationPolicy": "Background",
    }
    assert api("DELETE", pod, wanted).status == 200
    [(_, request)] = hook.asked
    header = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}
    assert request["options"] == {**header, **wanted}


def test_of_scaling_webhooks_see_and_change_the_scale(
    api: Any, hook: Webhook, configured: Configured, space: str
) -> None:
    path = f"/apis/apps/v1/namespaces/{space}/deployments"
    labels = {"app": "a"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"selector": {"matchLabels": labels}, "template": template}
    assert api("POST", path, {"metadata": {"name": "d"}, "spec": spec}).status == 201
    assert configured("mutating", hook.config("m", rules=[_ALL])).status == 201
    three = {"op": "replace", "path": "/spec/replicas", "value": 3}
    hook.answers["m"] = lambda request: patch(request, three)
    scaled = api("PUT", f"{path}/d/scale", {"metadata": {"name": "d"}, "spec": {"replicas": 5}})
    assert (scaled.status, scaled.body["spec"]) == (200, {"replicas": 3})
    [(_, request)] = hook.asked
    assert request["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert request["object"]["spec"] == {"replicas": 5}
    assert request["object"]["status"] == {"replicas": 0, "selector": "app=a"}
    assert request["oldObject"]["spec"] == {"replicas": 1}


def test_questions_are_asked_about(hook: Webhook, configured: Configured, api: Any) -> None:
    rule = {**_ALL, "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]}
    assert configured("validating", hook.config("m", rules=[rule])).status == 201
    asked = api("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    assert asked.body["status"]["userInfo"]["username"] == "kubernetes-admin"
    [(_, request)] = hook.asked
    assert request["object"]["status"] == {"userInfo": {}}
    assert "name" not in request
