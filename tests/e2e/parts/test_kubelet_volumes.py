"""Volumes that need mounts: secrets in memory, pinned sub paths, nothing left behind."""

import base64
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from winkube.base.types import JsonObject
from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.errors import KubeletError
from winkube.kubelet.spec.fields import NodeFacts
from winkube.kubelet.volume.beneath import make_folders, open_beneath
from winkube.kubelet.volume.hostpath import ensure_hostpath
from winkube.kubelet.volume.payload import PayloadSource
from winkube.kubelet.volume.subpath import ensure_subpath
from winkube.kubelet.volume.volumes import VolumeSetup
from winkube.linux import mount

pytestmark = pytest.mark.root

POD: JsonObject = {
    "metadata": {"name": "web", "namespace": "default", "uid": "u1"},
    "spec": {
        "containers": [],
        "securityContext": {"fsGroup": 2000},
        "volumes": [
            {"name": "s", "secret": {"secretName": "s", "defaultMode": 0o400}},
            {"name": "m", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
            {"name": "d", "emptyDir": {}},
        ],
    },
}


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[VolumeSetup]:
    config = KubeletConfig(
        node_name="lin-1",
        os="linux",
        node_ip="192.0.2.1",
        cri_socket=tmp_path / "cri.sock",
        root_dir=tmp_path,
        pod_logs_dir=tmp_path / "log",
        cert_file=tmp_path,
        key_file=tmp_path,
        client_ca_file=tmp_path,
    )
    yield VolumeSetup(config)
    mount.umount_all(tmp_path)


async def _secret(kind: str, namespace: str, name: str) -> JsonObject:
    return {"data": {"pw": base64.b64encode(b"secret").decode()}}


async def _token(pod: JsonObject, projection: JsonObject) -> str:
    return "token"


def _source() -> PayloadSource:
    return PayloadSource(_secret, _token, NodeFacts("lin-1", ("192.0.2.1",), {}))


async def test_secrets_and_memory_volumes_are_not_on_disk(setup: VolumeSetup) -> None:
    volumes = await setup.ensure(POD, _source())
    assert {name for name, found in volumes.items() if mount.is_mounted(found.path)} == {"s", "m"}
    details = (volumes["s"].path / "pw").stat()
    assert (details.st_gid, details.st_mode & 0o777) == (2000, 0o440)
    limits = os.statvfs(volumes["m"].path)
    assert limits.f_blocks * limits.f_frsize == 1 << 20
    assert volumes["d"].path.stat().st_gid == 2000
    again = await setup.ensure(POD, _source())
    assert again == volumes
    setup.teardown("u1")
    assert mount.list_mounts(setup.config.root_dir) == []
    assert not setup.config.pod_dir("u1").exists()


async def test_memory_is_mounted_again_after_a_reboot(setup: VolumeSetup) -> None:
    path = (await setup.ensure(POD, _source()))["s"].path
    mount.umount(path)
    await setup.ensure(POD, _source())
    assert mount.is_mounted(path)
    assert (path / "pw").read_bytes() == b"secret"


def test_a_sub_path_stays_what_it_was_when_a_folder_turns_into_a_link(
    setup: VolumeSetup, tmp_path: Path
) -> None:
    volume, outside = tmp_path / "v", tmp_path / "out"
    (volume / "a").mkdir(parents=True)
    (volume / "a/mine").touch()
    outside.mkdir()
    pinned = ensure_subpath(volume, "a", tmp_path / "pin")
    (volume / "a").rename(volume / "b")
    (volume / "a").symlink_to(outside)
    assert [entry.name for entry in pinned.iterdir()] == ["mine"]
    assert mount.is_mounted(pinned)


def test_a_host_path_of_a_windows_node_stays_what_it_was_when_it_turns_into_a_link(
    setup: VolumeSetup, tmp_path: Path
) -> None:
    drive, outside = tmp_path / "c", tmp_path / "out"
    (drive / "data").mkdir(parents=True)
    (drive / "data/mine").touch()
    outside.mkdir()
    pinned = ensure_hostpath({"path": "C:\\data"}, drive, tmp_path / "pin")
    (drive / "data").rename(drive / "old")
    (drive / "data").symlink_to(outside)
    assert [entry.name for entry in pinned.iterdir()] == ["mine"]


def test_nothing_is_made_or_changed_through_a_link_that_came_in_between(tmp_path: Path) -> None:
    drive, outside = tmp_path / "c", tmp_path / "out"
    drive.mkdir()
    outside.mkdir(mode=0o700)
    (drive / "a").symlink_to(outside)
    for call in (lambda: make_folders(drive, drive / "a/b", 0o777), _open(drive, drive / "a/b")):
        with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
            call()
    with pytest.raises(KubeletError, match="has become a link"):
        open_beneath(drive, drive / "a")
    assert list(outside.iterdir()) == []
    assert outside.stat().st_mode & 0o777 == 0o700


def _open(base: Path, wanted: Path) -> Callable[[], object]:
    return lambda: open_beneath(base, wanted)


def test_mounts_below_a_link_are_found(setup: VolumeSetup, tmp_path: Path) -> None:
    """A pod's folder is emptied when it goes: no mount may be left in it by then."""
    (tmp_path / "real/m").mkdir(parents=True)
    (tmp_path / "host").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    mount.bind_mount(tmp_path / "host", tmp_path / "link/m")
    assert mount.is_mounted(tmp_path / "link/m")
    assert mount.umount_all(tmp_path / "link") == [tmp_path / "real/m"]
    assert not mount.is_mounted(tmp_path / "real/m")
