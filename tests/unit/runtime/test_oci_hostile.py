"""Images made to break out: their documents and layers are refused."""

import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from winkube.machines.personality import find_personality
from winkube.runtime.exec import load_env
from winkube.runtime.launch import Report, forget, parse_report, read_report
from winkube.runtime.oci.archive import load_archive
from winkube.runtime.oci.blobs import BlobStore
from winkube.runtime.oci.errors import ArchiveError, PlatformError
from winkube.runtime.oci.manifest import choose_variant, parse_manifest
from winkube.runtime.oci.model import parse_config
from winkube.runtime.oci.unpack import Budget, parse_name

HOST = find_personality("ltsc2019")
DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    "name", ["/", "/etc", "../../../../etc", "", "sha256:", "sha256:../x", DIGEST + "/..", "x" * 64]
)
def test_a_layer_is_named_by_a_digest_and_never_by_a_path(name: str) -> None:
    # A folder of the host under such a name would become part of the container's files.
    with pytest.raises(ArchiveError, match="no digest"):
        parse_config({"os": "windows", "rootfs": {"diff_ids": [name]}})


@pytest.mark.parametrize(
    "document",
    [
        {"config": [1]},
        {"config": {"Env": "A=b"}},
        {"config": {"Cmd": [1]}},
        {"config": {"Labels": ["x"]}},
        {"config": {"Labels": {"x": 1}}},
        {"rootfs": {"diff_ids": DIGEST}},
        {"rootfs": 1},
    ],
)
def test_configs_of_other_types_are_refused(document: Any) -> None:
    with pytest.raises(ArchiveError):
        parse_config(document)
    assert parse_config({"history": {"a": 1}}).base_layers == 0


@pytest.mark.parametrize(
    "descriptor",
    [{}, {"digest": 1}, {"digest": "../x"}, {"digest": DIGEST, "size": -1}, "x"],
)
def test_descriptors_that_name_no_blob_are_refused(descriptor: Any) -> None:
    with pytest.raises(ArchiveError):
        parse_manifest({"schemaVersion": 2, "config": descriptor})
    with pytest.raises(ArchiveError):
        parse_manifest({"schemaVersion": 2, "config": {"digest": DIGEST}, "layers": [descriptor]})


def test_an_index_of_other_types_has_nothing_for_us() -> None:
    for manifests in ("x", {"a": 1}, [1], [{"platform": "windows"}]):
        with pytest.raises(PlatformError):
            choose_variant({"manifests": manifests}, HOST)


def _archive(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("index.json", []),
        ("index.json", {"manifests": [1]}),
        ("index.json", {"manifests": [{"digest": "../../x"}]}),
        ("manifest.json", {}),
        ("manifest.json", [{}]),
        ("manifest.json", [1]),
        ("manifest.json", [{"Config": "../../etc/passwd", "Layers": []}]),
    ],
)
def test_archives_with_other_documents_are_refused(
    tmp_path: Path, name: str, document: Any
) -> None:
    path = _archive(tmp_path / "a.tar", {name: json.dumps(document).encode()})
    blobs = BlobStore(tmp_path / "blobs")
    if document == {}:
        assert load_archive(path, blobs, HOST) == []
        return
    with pytest.raises(ArchiveError):
        load_archive(path, blobs, HOST)


@pytest.mark.parametrize(
    "name", ["Files/.wh.", "Files/.wh..", "Files/.wh...", "Files/a/.wh...", "Files\\.wh..."]
)
def test_a_whiteout_takes_away_a_name_and_never_a_folder_itself(name: str) -> None:
    with pytest.raises(ArchiveError, match="takes away"):
        parse_name(name)
    assert parse_name("Files/a/.wh..wh..opq") == ("a", ".wh..wh..opq")
    assert parse_name("Files/a/.wh.b") == ("a", ".wh.b")


def test_a_layer_unpacks_to_what_there_is_space_for() -> None:
    budget = Budget(100, entries=3)
    budget.spend(60)
    with pytest.raises(ArchiveError, match="more than there is space for"):
        budget.spend(1 << 60)
    few = Budget(100, entries=1)
    few.spend(0)
    with pytest.raises(ArchiveError, match="entries"):
        few.spend(0)


def test_nothing_a_container_puts_in_place_of_its_report_harms(tmp_path: Path) -> None:
    report = tmp_path / "main.report"
    report.mkdir()
    assert read_report(tmp_path, "main") == Report()
    forget(tmp_path, "main")
    report.rmdir()
    os.mkfifo(report)
    writer = os.open(report, os.O_RDWR)
    try:
        assert read_report(tmp_path, "main") == Report()
    finally:
        os.close(writer)
    report.unlink()
    report.symlink_to("/dev/zero")
    assert read_report(tmp_path, "main") == Report()
    assert parse_report(b"started\nexited " + b"9" * 60_000 + b"\n") == Report(started=True)


def test_nothing_a_container_puts_in_place_of_its_orders_is_followed(tmp_path: Path) -> None:
    orders = tmp_path / "main.orders"
    orders.symlink_to("/dev/zero")
    assert load_env(tmp_path) == {}
    orders.unlink()
    (tmp_path / "host").write_bytes(b"env=SECRET=1\0")
    orders.symlink_to(tmp_path / "host")
    assert load_env(tmp_path) == {}
    orders.unlink()
    os.mkfifo(orders)
    assert load_env(tmp_path) == {}
