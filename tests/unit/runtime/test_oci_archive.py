import gzip
import io
import json
import struct
import tarfile
from pathlib import Path

import pytest

from winkube.machines.personality import find_personality
from winkube.runtime.oci.archive import load_archive
from winkube.runtime.oci.blobs import BlobStore
from winkube.runtime.oci.errors import ArchiveError
from winkube.runtime.oci.model import ImageConfig
from winkube.runtime.oci.unpack import CaseMap, chain_id, open_layer, parse_name
from winkube.testing.archive import ArchiveFile, ArchiveImage, write_archive

HOST = find_personality("ltsc2019")
IMAGE = ArchiveImage(
    name="example.com/app:1",
    config=ImageConfig(os_version="10.0.17763.1", entrypoint=("C:\\app.exe",)),
    layers=({"Files/app.exe": ArchiveFile(b"MZ", 0o755)},),
)


def test_an_archive_we_write_is_read_back(tmp_path: Path) -> None:
    image_id = write_archive(tmp_path / "a.tar", IMAGE)
    blobs = BlobStore(tmp_path / "blobs")
    (loaded,) = load_archive(tmp_path / "a.tar", blobs, HOST)
    assert loaded.names == ("example.com/app:1",)
    assert loaded.manifest.config.digest == image_id
    assert all(blobs.has(layer.digest) for layer in loaded.manifest.layers)


def test_the_same_image_gives_the_same_bytes(tmp_path: Path) -> None:
    write_archive(tmp_path / "a.tar", IMAGE)
    write_archive(tmp_path / "b.tar", IMAGE)
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()


def test_a_docker_archive_is_read(tmp_path: Path) -> None:
    files = {
        "c.json": b"{}",
        "l/layer.tar": b"layer",
        "manifest.json": json.dumps(
            [{"Config": "c.json", "RepoTags": ["a:1"], "Layers": ["l/layer.tar"]}]
        ).encode(),
    }
    with tarfile.open(tmp_path / "d.tar", "w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    (loaded,) = load_archive(tmp_path / "d.tar", BlobStore(tmp_path / "blobs"), HOST)
    assert loaded.names == ("a:1",)
    assert len(loaded.manifest.layers) == 1


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(b"hello")
    with pytest.raises(ArchiveError, match="not an image archive"):
        load_archive(tmp_path / "x.tar", BlobStore(tmp_path / "blobs"), HOST)


def test_a_blob_with_the_wrong_digest_is_not_kept(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path / "blobs")
    with pytest.raises(ArchiveError, match="has the digest"):
        blobs.add([b"data"], "sha256:" + "0" * 64)
    assert list((tmp_path / "blobs").iterdir()) == []


def test_entries_below_files_are_paths_on_the_drive() -> None:
    assert parse_name("Files/Windows/x.dll") == ("Windows", "x.dll")
    assert parse_name("./Files/a") == ("a",)
    assert parse_name("Hives/System_Delta") is None
    assert parse_name("Files/a:stream") is None


@pytest.mark.parametrize("name", ["Files/../../etc/passwd", "..\\x", "Files\\..\\..\\x"])
def test_entries_that_leave_the_folder_are_refused(name: str) -> None:
    with pytest.raises(ArchiveError, match="leaves its folder"):
        parse_name(name)


def test_layers_that_are_not_of_windows_are_refused() -> None:
    with pytest.raises(ArchiveError, match="not a layer of a Windows image"):
        parse_name("etc/passwd")


def test_names_are_spelled_as_the_layers_below_spell_them(tmp_path: Path) -> None:
    (tmp_path / "windows" / "system32").mkdir(parents=True)
    case = CaseMap([tmp_path])
    assert case.match(("Windows", "System32", "New")) == ("windows", "system32", "New")
    assert case.match(("WINDOWS", "system32", "NEW")) == ("windows", "system32", "New")


def test_chain_ids_name_a_layer_with_all_below_it() -> None:
    assert chain_id("", "sha256:a") == "sha256:a"
    assert chain_id("sha256:a", "sha256:b") != chain_id("sha256:b", "sha256:a")


@pytest.mark.parametrize("form", ["plain", "gzip", "zstd"])
def test_a_layer_is_read_in_every_wrapping(tmp_path: Path, form: str) -> None:
    plain = bytes(range(256)) * 100
    wrapped = {"plain": plain, "gzip": gzip.compress(plain), "zstd": to_zstd_frame(plain)}[form]
    (tmp_path / "layer").write_bytes(wrapped)
    with open_layer(tmp_path / "layer") as file:
        assert b"".join(iter(lambda: file.read(4096), b"")) == plain


def to_zstd_frame(data: bytes) -> bytes:
    """A frame of one raw block (RFC 8878): descriptor with a four-byte size, then the block."""
    head = struct.pack("<IBI", 0xFD2FB528, 0xA0, len(data))
    return head + struct.pack("<I", len(data) << 3 | 1)[:3] + data
