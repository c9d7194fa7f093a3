"""Layers on a real disk: hostile entries leave nothing outside, bombs stop, files are private."""

import gzip
import hashlib
import io
import stat
import tarfile
from pathlib import Path

import pytest

from winkube.machines.wine.recipe import DRIVE_C
from winkube.runtime.oci import unpack
from winkube.runtime.oci.errors import ArchiveError
from winkube.runtime.oci.unpack import Budget, unpack_layer

pytestmark = pytest.mark.root


def _unpack(folder: Path, *entries: tuple[str, bytes, bytes, str]) -> Path:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, kind, data, link in entries:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = kind, link, len(data)
            info.mode, info.mtime = 0o6777, 1 << 40
            tar.addfile(info, io.BytesIO(data))
    blob = folder / "blob"
    blob.write_bytes(gzip.compress(out.getvalue()))
    target = folder / "cache/layers/base/layer"
    digest = "sha256:" + hashlib.sha256(out.getvalue()).hexdigest()
    (folder / "below" / DRIVE_C).mkdir(parents=True, exist_ok=True)
    unpack_layer(blob, target, (folder / "below",), digest)
    return target / DRIVE_C


FILE, LINK, HARD = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE


def test_devices_and_special_bits_are_left_out_and_the_layer_is_private(tmp_path: Path) -> None:
    drive = _unpack(
        tmp_path,
        ("Files/a.exe", FILE, b"MZ", ""),
        ("Files/null", tarfile.CHRTYPE, b"", ""),
        ("Files/disk", tarfile.BLKTYPE, b"", ""),
        ("Files/pipe", tarfile.FIFOTYPE, b"", ""),
    )
    assert [entry.name for entry in drive.iterdir()] == ["a.exe"]
    assert stat.S_IMODE((drive / "a.exe").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "cache/layers/base").stat().st_mode) == 0o700


def test_links_lead_nowhere_but_the_drive(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("host")
    drive = _unpack(
        tmp_path,
        ("Files/up", LINK, b"", "../../../../secret"),
        ("Files/abs", LINK, b"", str(secret)),
        ("Files/dir", LINK, b"", "/"),
        ("Files/dir/x", FILE, b"mine", ""),
    )
    assert not (drive / "up").is_symlink()
    assert not (drive / "abs").exists()
    assert (drive / "dir/x").read_text() == "mine"
    assert secret.read_text() == "host"
    assert not (tmp_path / "x").exists()


def test_a_hard_link_finds_nothing_of_the_host(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError):
        _unpack(tmp_path, ("Files/pw", HARD, b"", "/etc/passwd"))
    with pytest.raises(ArchiveError, match="missing"):
        _unpack(tmp_path, ("Files/pw", HARD, b"", "Files/etc/passwd"))


def test_a_bomb_stops_where_the_space_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack.Budget, "of_disk", lambda _folder: Budget(1 << 20))
    with pytest.raises(ArchiveError, match="space"):
        _unpack(tmp_path, ("Files/zeros", FILE, bytes(8 << 20), ""))
    assert [entry.suffix for entry in (tmp_path / "cache/layers/base").iterdir()] == [".lock"]
