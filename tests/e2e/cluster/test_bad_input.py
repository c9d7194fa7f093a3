"""Bad input gets a clear answer, and nothing else changes."""

import json
from typing import Any

import pytest
from tests.e2e.harness import Cluster, eventually

pytestmark = pytest.mark.root


def waiting(cluster: Cluster, name: str) -> dict[str, Any]:
    [status] = cluster.get("pod", name)["status"]["containerStatuses"]
    return dict(status["state"].get("waiting") or status["state"].get("terminated") or {})


def run_pod(cluster: Cluster, name: str, system: str, image: str, *command: str) -> None:
    container: dict[str, Any] = {"name": "main", "image": image}
    if command:
        container["command"] = list(command)
    cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"nodeSelector": {"kubernetes.io/os": system}, "containers": [container]},
        }
    )


@pytest.mark.parametrize("system", ["linux", "windows"])
def test_an_image_that_does_not_exist_is_backed_off(cluster: Cluster, system: str) -> None:
    run_pod(cluster, f"noimage-{system}", system, "winkube.local/does-not-exist:1")
    try:
        state = eventually(
            lambda: (
                (s := waiting(cluster, f"noimage-{system}"))
                and s["reason"] in ("ErrImagePull", "ImagePullBackOff")
                and s
            )
        )
        assert "winkube.local/does-not-exist:1" in state["message"]
    finally:
        cluster.kubectl("delete", "pod", f"noimage-{system}", "--now")


def test_a_command_that_does_not_exist_is_told(cluster: Cluster) -> None:
    run_pod(cluster, "nocommand", "windows", "microsoft/windowsservercore", "nosuch.exe")
    try:
        state = eventually(
            lambda: (s := waiting(cluster, "nocommand")) and "cannot find the file" in str(s) and s
        )
        assert state
    finally:
        cluster.kubectl("delete", "pod", "nocommand", "--now")


def test_an_image_of_another_windows_is_refused_in_windows_words(cluster: Cluster) -> None:
    run_pod(cluster, "newer", "windows", "mcr.microsoft.com/windows/servercore:ltsc2022")
    try:
        assert eventually(
            lambda: "does not match the host operating system" in str(waiting(cluster, "newer"))
        )
    finally:
        cluster.kubectl("delete", "pod", "newer", "--now")


def test_unknown_fields_and_wrong_types_are_named(cluster: Cluster) -> None:
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "odd"},
        "spec": {"containers": [{"name": "a", "image": "b", "imagee": "c"}]},
    }
    done = cluster.kubectl("create", "-f", "-", stdin=json.dumps(document), check=False)
    assert done.returncode != 0
    assert 'unknown field "spec.containers[0].imagee"' in done.stderr
    document["spec"] = {"containers": "many"}
    done = cluster.kubectl("create", "-f", "-", stdin=json.dumps(document), check=False)
    assert done.returncode != 0
    assert "containers" in done.stderr


@pytest.mark.parametrize("name", ["../../etc", "UPPER", "a" * 254, "with space"])
def test_names_are_checked(cluster: Cluster, name: str) -> None:
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    done = cluster.kubectl("create", "-f", "-", stdin=json.dumps(document), check=False)
    assert done.returncode != 0
    assert "invalid" in done.stderr.lower()
