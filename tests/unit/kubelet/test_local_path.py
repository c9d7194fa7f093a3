"""Folders of the local-path provisioner: open to write, removed only when they are meant."""

from pathlib import Path

import pytest

from winkube.api.errors import ConflictError
from winkube.base.types import JsonObject
from winkube.client.resource import PERSISTENTVOLUMES
from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.errors import KubeletError
from winkube.kubelet.volume.local_path import (
    VolumeReclaimer,
    ensure_local_path,
    is_to_be_removed,
    remove_folder,
)
from winkube.testing.fake_api import FakeApi
from winkube.testing.tasks import eventually, running


def volume(path: str, policy: str = "Delete", phase: str = "Released") -> JsonObject:
    return {
        "metadata": {
            "name": "pvc-1",
            "annotations": {"pv.kubernetes.io/provisioned-by": "winkube.io/local-path"},
            "deletionTimestamp": "2020-01-01T00:00:00Z",
            "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer"],
        },
        "spec": {
            "hostPath": {"path": path, "type": "DirectoryOrCreate"},
            "persistentVolumeReclaimPolicy": policy,
        },
        "status": {"phase": phase},
    }


def test_fresh_folder_is_open_to_every_user_and_an_old_one_is_left_as_it_is(tmp_path: Path) -> None:
    source = {"path": str(tmp_path / "pvc-1_ns_c"), "type": "DirectoryOrCreate"}
    made = ensure_local_path(source, None)
    assert made.stat().st_mode & 0o777 == 0o777
    made.chmod(0o700)
    assert ensure_local_path(source, None).stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("windows", [False, True])
def test_folder_of_a_deleted_volume_is_removed(tmp_path: Path, windows: bool) -> None:
    folder = tmp_path / "local-path/pvc-1_ns_c"
    (folder / "deep").mkdir(parents=True)
    path = "C:\\local-path\\pvc-1_ns_c" if windows else str(folder)
    remove_folder(volume(path), tmp_path if windows else None)
    assert not folder.exists()
    remove_folder(volume(path), tmp_path if windows else None)


def test_folder_with_another_name_is_never_removed(tmp_path: Path) -> None:
    with pytest.raises(KubeletError, match="is not the folder of volume"):
        remove_folder(volume(str(tmp_path)), None)
    assert tmp_path.exists()


def test_only_released_volumes_to_be_deleted_are_removed() -> None:
    assert is_to_be_removed(volume("/x"))
    assert not is_to_be_removed(volume("/x", policy="Retain"))
    assert not is_to_be_removed(volume("/x", phase="Bound"))
    living = volume("/x")
    del living["metadata"]["deletionTimestamp"]
    assert not is_to_be_removed(living)


async def test_volume_goes_when_its_folder_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "pvc-1_ns_c"
    folder.mkdir()
    api = FakeApi()
    theirs, ours = volume("/elsewhere/pvc-2_ns_c"), volume(str(folder))
    theirs["metadata"] |= {"name": "pvc-2", "labels": {"winkube.io/local-path-node": "other"}}
    ours["metadata"]["labels"] = {"winkube.io/local-path-node": "lin-1"}
    api.seed(PERSISTENTVOLUMES, theirs)
    api.seed(PERSISTENTVOLUMES, ours)
    api.fail_next(ConflictError("changed"))
    files = ("cri_socket", "root_dir", "pod_logs_dir", "cert_file", "key_file", "client_ca_file")
    paths = {name: tmp_path / name for name in files}
    config = KubeletConfig(node_name="lin-1", os="linux", node_ip="127.0.0.1", **paths)  # type: ignore[arg-type]
    async with running(VolumeReclaimer(config, api).run()):
        await eventually(lambda: api.find(PERSISTENTVOLUMES, "pvc-1") is None)
    assert not folder.exists()
    assert api.find(PERSISTENTVOLUMES, "pvc-2") is not None
