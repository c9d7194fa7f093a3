"""Volume files: atomic replacement, links that lead nowhere, host paths."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from winkube.base.types import JsonObject
from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.errors import KubeletError, VolumeError
from winkube.kubelet.spec.fields import NodeFacts
from winkube.kubelet.volume import subpath
from winkube.kubelet.volume.atomic import File, write_files
from winkube.kubelet.volume.hostpath import ensure_hostpath
from winkube.kubelet.volume.payload import PayloadSource
from winkube.kubelet.volume.volumes import VolumeSetup
from winkube.linux import mount


def test_files_are_replaced_all_at_once(tmp_path: Path) -> None:
    assert write_files(tmp_path, {"a": File(b"1"), "d/b": File(b"2", 0o600)})
    first = (tmp_path / "..data").readlink()
    assert (tmp_path / "a").read_text() == "1"
    assert (tmp_path / "d/b").stat().st_mode & 0o777 == 0o600
    assert not write_files(tmp_path, {"a": File(b"1"), "d/b": File(b"2", 0o600)})
    assert write_files(tmp_path, {"a": File(b"3")})
    assert (tmp_path / "a").read_text() == "3"
    assert not (tmp_path / "d").is_symlink()
    assert not (tmp_path / first).exists()


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", "..data"])
def test_files_never_leave_the_volume(tmp_path: Path, path: str) -> None:
    with pytest.raises(KubeletError):
        write_files(tmp_path / "v", {path: File(b"")})


def _as_user(monkeypatch: pytest.MonkeyPatch) -> None:
    # Without root nothing is bind mounted: the resolved path itself is the answer.
    monkeypatch.setattr("os.geteuid", lambda: 1000)


def test_a_sub_path_is_found_through_links_inside_the_volume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _as_user(monkeypatch)
    write_files(tmp_path / "v", {"a": File(b"1")})
    found = subpath.ensure_subpath(tmp_path / "v", "a", tmp_path / "t")
    assert found.read_text() == "1"


def test_a_missing_sub_path_becomes_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _as_user(monkeypatch)
    (tmp_path / "v").mkdir()
    (tmp_path / "v").chmod(0o2777)
    found = subpath.ensure_subpath(tmp_path / "v", "x\\y", tmp_path / "t")
    assert found == tmp_path / "v/x/y"
    # Whoever may write into the volume may write into the parts of it that are made.
    modes = [stat.S_IMODE(each.stat().st_mode) for each in (found, found.parent)]
    assert modes == [0o2777, 0o2777]


@pytest.mark.parametrize("path", ["link", "link/x", "../out", "/etc", "deep/link"])
def test_a_sub_path_never_leads_out_of_the_volume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    _as_user(monkeypatch)
    (tmp_path / "out").mkdir()
    (tmp_path / "v/deep").mkdir(parents=True)
    (tmp_path / "v/link").symlink_to(tmp_path / "out")
    (tmp_path / "v/deep/link").symlink_to("../../out")
    with pytest.raises(KubeletError):
        subpath.ensure_subpath(tmp_path / "v", path, tmp_path / "t")


def test_windows_host_paths_live_on_the_c_drive(tmp_path: Path) -> None:
    made = ensure_hostpath({"path": "C:\\data", "type": "DirectoryOrCreate"}, tmp_path)
    assert made == tmp_path / "data"
    assert made.is_dir()


def test_a_link_out_of_the_c_drive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c/evil").symlink_to("/etc")
    with pytest.raises(KubeletError, match="leads out of drive C:"):
        ensure_hostpath({"path": "C:\\evil"}, tmp_path / "c")


def test_a_typed_host_path_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KubeletError, match=r"hostPath type check failed: .* is not a directory"):
        ensure_hostpath({"path": str(tmp_path / "no"), "type": "Directory"}, None)
    file = tmp_path / "f"
    assert ensure_hostpath({"path": str(file), "type": "FileOrCreate"}, None) == file


def test_every_user_may_look_into_a_volume_whatever_our_umask_is(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        (tmp_path / "v").mkdir()
        write_files(tmp_path / "v", {"a": File(b"1"), "d/e/b": File(b"2")})
    finally:
        os.umask(before)
    for folder in ("v", "v/..data", "v/d", "v/d/e"):
        assert (tmp_path / folder).stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "v/d/e/b").stat().st_mode & 0o777 == 0o644


async def test_the_claim_made_for_an_ephemeral_volume_is_mounted(
    pod_of: Callable[..., JsonObject], config_of: Callable[[str], KubeletConfig]
) -> None:
    pod = pod_of(volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}])
    metadata = pod["metadata"]
    claim: JsonObject = {"spec": {"volumeName": "pv"}, "status": {"phase": "Bound"}}
    folder = {"spec": {"hostPath": {"path": "C:\\made", "type": "DirectoryOrCreate"}}}
    known = {("persistentVolumeClaim", f"{metadata['name']}-v"): claim}
    known["persistentVolume", "pv"] = folder

    async def lookup(kind: str, namespace: str, name: str) -> JsonObject | None:
        return known.get((kind, name))

    async def token(pod: JsonObject, projection: JsonObject) -> str:
        return ""

    config = config_of("windows")
    source = PayloadSource(lookup, token, NodeFacts("win-1", ("192.0.2.1",), {}))
    with pytest.raises(VolumeError, match=r"was not created for pod \S+ \(pod is not owner\)"):
        await VolumeSetup(config).ensure(pod, source)
    claim["metadata"] = {"ownerReferences": [{"uid": metadata["uid"], "controller": True}]}
    try:
        ready = await VolumeSetup(config).ensure(pod, source)
        (ready["v"].path / "kept").touch()
    finally:
        mount.umount_all(config.root_dir)
    assert config.c_drive is not None
    assert (config.c_drive / "made" / "kept").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="memory is mounted")
async def test_everybody_may_write_into_memory_also_after_a_reboot(
    pod_of: Callable[..., JsonObject], config_of: Callable[[str], KubeletConfig]
) -> None:
    pod = pod_of(volumes=[{"name": "v", "emptyDir": {"medium": "Memory"}}])
    config = config_of("linux")

    async def lookup(kind: str, namespace: str, name: str) -> JsonObject | None:
        return None

    async def token(pod: JsonObject, projection: JsonObject) -> str:
        return ""

    source = PayloadSource(lookup, token, NodeFacts("lin-1", ("192.0.2.1",), {}))
    modes = []
    try:
        for _ in range(2):
            ready = await VolumeSetup(config).ensure(pod, source)
            modes.append(ready["v"].path.stat().st_mode & 0o777)
            assert mount.umount_all(config.root_dir), "a reboot takes the memory away"
    finally:
        mount.umount_all(config.root_dir)
    assert modes == [0o777, 0o777]
