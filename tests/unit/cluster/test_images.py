"""The built-in Linux images are well-formed and reproducible."""

import hashlib
import io
import json
import tarfile

from winkube.cluster.images import build_archive


def test_the_archive_is_an_oci_layout_with_both_images() -> None:
    data = build_archive(b"\x7fELF", ["sh", "wget", "busybox"])
    assert data == build_archive(b"\x7fELF", ["sh", "wget", "busybox"])
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        blobs = {m.name: archive.extractfile(m).read() for m in archive if m.isfile()}  # type: ignore[union-attr]
    index = json.loads(blobs["index.json"])
    names = [m["annotations"]["io.containerd.image.name"] for m in index["manifests"]]
    assert names == ["winkube.local/busybox:latest", "winkube.local/pause:1"]
    for name, content in blobs.items():
        if name.startswith("blobs/"):
            assert name.rpartition("/")[2] == hashlib.sha256(content).hexdigest()
    manifest = json.loads(blobs["blobs/sha256/" + index["manifests"][0]["digest"][7:]])
    layer = blobs["blobs/sha256/" + manifest["layers"][0]["digest"][7:]]
    with tarfile.open(fileobj=io.BytesIO(layer)) as files:
        assert files.getmember("bin/wget").linkname == "busybox"
        assert files.getmember("tmp").mode == 0o1777
