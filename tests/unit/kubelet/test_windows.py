"""The same kubelet on a Windows node."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from winkube.base.types import JsonObject
from winkube.client.resource import CONFIGMAPS

Pods = Callable[..., JsonObject]


async def test_mounts_have_windows_paths_and_host_paths_are_on_c(
    windows_node: Any, pod_of: Pods
) -> None:
    node = windows_node
    node.api.seed(CONFIGMAPS, {"metadata": {"name": "cm"}, "data": {"a": "1"}})
    main = {
        "name": "main",
        "terminationMessagePath": "/dev/termination-log",
        "volumeMounts": [
            {"name": "cm", "mountPath": "/etc/cm"},
            {"name": "data", "mountPath": "C:\\data"},
        ],
        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
    }
    volumes = [
        {"name": "cm", "configMap": {"name": "cm", "defaultMode": 0o400}},
        {"name": "data", "hostPath": {"path": "C:\\shared"}},
    ]
    async with node.up():
        node.create(pod_of(containers=[main], volumes=volumes))
        await node.until_phase("Running")
        config = node.cri.find("main").config
        found = {m.container_path: m.host_path for m in config.mounts}
        drive = node.config.c_drive
        assert os.stat(found["C:\\data"]).st_ino == (drive / "shared").stat().st_ino  # noqa: PTH116
        assert "C:\\dev\\termination-log" in found
        assert "C:\\Windows\\System32\\drivers\\etc\\hosts" in found
        assert (Path(found["C:\\etc\\cm"]) / "a").stat().st_mode & 0o777 == 0o644
        assert config.windows.resources.cpu_maximum == 2500
        assert not config.HasField("linux")


async def test_a_linux_pod_fails_on_a_windows_node(windows_node: Any, pod_of: Pods) -> None:
    node = windows_node
    async with node.up():
        node.create(pod_of(os={"name": "linux"}))
        await node.until_phase("Failed")
        status = node.status()
        assert status["reason"] == "PodOSNotSupported"
        assert status["message"] == (
            "Pod was rejected: Failed to admit pod as the OS field doesn't match node OS"
        )
        assert node.cri.sandboxes == {}


async def test_linux_only_settings_are_dropped_without_a_word(
    windows_node: Any, pod_of: Pods
) -> None:
    node = windows_node
    async with node.up():
        node.create(pod_of(securityContext={"runAsUser": 999, "runAsNonRoot": True}))
        await node.until_phase("Running")


async def test_a_non_root_pod_may_not_be_the_administrator(windows_node: Any, pod_of: Pods) -> None:
    node = windows_node
    options = {"runAsUserName": "ContainerAdministrator"}
    async with node.up():
        node.create(pod_of(securityContext={"runAsNonRoot": True, "windowsOptions": options}))
        await node.until(lambda: node.waiting() == "CreateContainerConfigError")
        assert node.status()["phase"] == "Pending"
        await node.until(lambda: "Failed" in node.events())
        assert node.event_text("Failed").startswith(
            "Error: container's runAsUserName (ContainerAdministrator) which will be regarded as "
            "root identity and will break non-root policy"
        )
