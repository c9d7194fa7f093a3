"""Archives tell for which operating system their images are."""

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from winkube.cluster.images import build_archive
from winkube.cluster.loading import ArchiveError, read_systems


def write_tar(path: Path, files: dict[str, Any]) -> Path:
    with tarfile.open(path, "w") as tar:
        for name, document in files.items():
            data = json.dumps(document).encode()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def test_an_oci_archive_is_read(tmp_path: Path) -> None:
    archive = tmp_path / "oci.tar"
    archive.write_bytes(build_archive(b"program", ["sh"]))
    names = ["winkube.local/busybox:latest", "winkube.local/pause:1"]
    assert read_systems(archive) == {"linux": names}


def test_a_docker_archive_is_read(tmp_path: Path) -> None:
    manifest = [{"Config": "abc.json", "RepoTags": ["app:1", "app:2"], "Layers": []}]
    archive = write_tar(
        tmp_path / "a.tar", {"manifest.json": manifest, "abc.json": {"os": "windows"}}
    )
    assert read_systems(archive) == {"windows": ["app:1", "app:2"]}


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"manifest.json": {}},
        {"manifest.json": [{"Config": "../../etc/passwd"}]},
        {"index.json": {"manifests": [{"digest": "sha256:none"}]}},
        {"index.json": []},
    ],
)
def test_other_archives_are_refused(tmp_path: Path, files: dict[str, Any]) -> None:
    archive = write_tar(tmp_path / "a.tar", files)
    if files == {"manifest.json": {}}:
        assert read_systems(archive) == {}
        return
    with pytest.raises(ArchiveError, match=r"a\.tar"):
        read_systems(archive)


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("hello")
    with pytest.raises(ArchiveError):
        read_systems(path)
