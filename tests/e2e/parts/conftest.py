"""A Windows runtime of one test's own: its files, its control group, its part of the cache."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from winkube.base.paths import Home
from winkube.linux import cgroup, mount, netns
from winkube.machines.personality import find_personality
from winkube.machines.wine.base import ensure_base
from winkube.runtime.config import RuntimeConfig


@pytest.fixture(scope="session")
def wine_cache() -> Path:
    folder = Home.load().cache
    ensure_base(folder, lambda step, part: None)
    return folder


@pytest.fixture
def cache(wine_cache: Path, tmp_path: Path) -> Path:
    """What takes long to make is the machine's; blobs and layers are the test's."""
    folder = tmp_path / "cache"
    folder.mkdir()
    for name in ("programs", "personalities"):
        (wine_cache / name).mkdir(exist_ok=True)
    for path in (*wine_cache.glob("wine-*"), wine_cache / "programs", wine_cache / "personalities"):
        (folder / path.name).symlink_to(path)
    return folder


@pytest.fixture
def config(tmp_path: Path, cache: Path) -> Iterator[RuntimeConfig]:
    parent = f"/wkt-runtime-{os.getpid()}"
    before = set(netns.list_netns("wkp-"))
    yield RuntimeConfig(
        socket=tmp_path / "cri.sock",
        root=tmp_path / "root",
        run=tmp_path / "run",
        cache=cache,
        cni_conf_dir=tmp_path / "cni",
        cni_bin_dir=tmp_path / "bin",
        hns_socket=None,
        personality=find_personality("ltsc2019"),
        cgroup_parent=parent,
        node_name="win-1",
        c_drive=tmp_path / "c",
    )
    cgroup.kill_all(parent)
    cgroup.remove(parent)
    mount.umount_all(tmp_path)
    for name in set(netns.list_netns("wkp-")) - before:
        netns.delete_netns(name)
    shutil.rmtree(tmp_path, ignore_errors=True)
