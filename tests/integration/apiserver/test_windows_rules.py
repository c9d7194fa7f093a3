"""The Windows rules in our API server, as kubectl shows them and as controllers meet them."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.apiserver.conftest import (
    Authority,
    Http,
    Running,
    listen,
    make_config,
    run_server,
)
from tests.upstream.windows_stage import NODE

from winkube.rules.admission.mode import LABEL
from winkube.rules.load import load_rules

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: app
    image: mcr.microsoft.com/windows/servercore:ltsc2019
    securityContext: {privileged: true}
"""


@pytest.fixture
def windows_node(api: Any) -> Iterator[str]:
    made = api("POST", "/api/v1/nodes", NODE)
    assert made.status == 201
    yield made.body["metadata"]["name"]
    api("DELETE", f"/api/v1/nodes/{made.body['metadata']['name']}")


def test_kubectl_shows_the_warnings(
    any_kubectl: Callable[..., str], namespace: str, windows_node: str
) -> None:
    said = any_kubectl("apply", "-n", namespace, "-f", "-", stdin=POD, check=False)
    assert "pod/web created" in said
    warned = [line for line in said.splitlines() if line.startswith("Warning: ")]
    assert warned == [
        "Warning: WIN-SCHED-001: Nothing keeps this Windows pod on Windows nodes (spec). "
        "Add nodeSelector kubernetes.io/os: windows.",
        "Warning: WIN-SEC-034: privileged has no effect on Windows "
        "(spec.containers[0].securityContext.privileged). "
        "Use a HostProcess container (1.22 alpha, 1.26 stable).",
        "Warning: WIN-SCHED-006: The pod does not tolerate the usual taint of Windows nodes "
        "(spec). Add a toleration for os=windows:NoSchedule, or bundle it in a RuntimeClass.",
    ]
    any_kubectl("delete", "pod", "web", "-n", namespace)


def test_kubectl_labels_a_namespace(
    any_kubectl: Callable[..., str], namespace: str, windows_node: str
) -> None:
    apply = ("apply", "-n", namespace, "-f", "-")
    said = any_kubectl("label", "namespace", namespace, f"{LABEL}=strict", check=False)
    assert f"Warning: label {LABEL}: 'strict' is none of off, warn," in said
    any_kubectl("label", "--overwrite", "namespace", namespace, f"{LABEL}=off")
    assert "Warning" not in any_kubectl(*apply, stdin=POD, check=False)
    any_kubectl("delete", "pod", "web", "-n", namespace)
    any_kubectl("label", "--overwrite", "namespace", namespace, f"{LABEL}=enforce")
    refused = any_kubectl(*apply, stdin=POD, check=False)
    assert 'pods "web" is forbidden: the Windows rules refuse it: WIN-SCHED-001' in refused
    any_kubectl("label", "--overwrite", "namespace", namespace, f"{LABEL}=mutate")
    any_kubectl(*apply, stdin=POD, check=False)
    seen = any_kubectl("get", "pod", "web", "-n", namespace, "-o", "jsonpath={.spec.nodeSelector}")
    assert "windows" in seen
    # What was added is not in the manifest: applying it again changes nothing.
    assert "unchanged" in any_kubectl(*apply, stdin=POD, check=False)
    any_kubectl("delete", "pod", "web", "-n", namespace)


def test_without_windows_nodes_nothing_is_said(kubectl: Callable[..., str], namespace: str) -> None:
    assert "Warning" not in kubectl("apply", "-n", namespace, "-f", "-", stdin=POD, check=False)


def test_the_nodes_are_followed(kubectl: Callable[..., str], namespace: str, api: Any) -> None:
    """A node that comes, changes and goes is noticed by the next request."""
    apply = ("create", "--dry-run=server", "-n", namespace, "-f", "-")
    assert "Warning" not in kubectl(*apply, stdin=POD, check=False)
    name = "win-followed"
    labels = {**NODE["metadata"]["labels"]}
    made = api("POST", "/api/v1/nodes", {**NODE, "metadata": {"name": name, "labels": labels}})
    assert made.status == 201
    try:
        assert "WIN-SCHED-006" in kubectl(*apply, stdin=POD, check=False)
        kubectl("taint", "node", name, "os=windows:NoSchedule-")
        said = kubectl(*apply, stdin=POD, check=False)
        assert "WIN-SCHED-001" in said
        assert "WIN-SCHED-006" not in said
        kubectl("label", "--overwrite", "node", name, "node.kubernetes.io/windows-build=10.0.20348")
        assert "WIN-IMG-001" in kubectl(*apply, stdin=POD, check=False)
    finally:
        api("DELETE", f"/api/v1/nodes/{name}")
    assert "Warning" not in kubectl(*apply, stdin=POD, check=False)


def test_the_rules_are_read_before_anybody_asks(tmp_path: Path) -> None:
    authority, sock = Authority(tmp_path), listen()
    load_rules.cache_clear()
    with run_server(make_config(tmp_path, authority, sock)):
        url, admin = f"https://127.0.0.1:{sock.getsockname()[1]}", ("admin", "kubernetes-admin")
        server = Running(url, authority, tmp_path, authority.issue(*admin, ("system:masters",)))
        assert Http(server)("POST", "/api/v1/nodes", NODE).status == 201
        deadline = time.monotonic() + 30
        while not load_rules.cache_info().currsize:
            assert time.monotonic() < deadline
            time.sleep(0.01)
