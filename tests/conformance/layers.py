"""Layers and archives of the small images the conformance tests run, byte for byte repeatable.

A layer is a tar file of entries; an archive is an OCI layout with any number of images that may
share layers, so a program that many images have is stored once.
"""

import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

_LAYER_TYPE: Final = "application/vnd.oci.image.layer.v1.tar"
_CONFIG_TYPE: Final = "application/vnd.oci.image.config.v1+json"
_MANIFEST_TYPE: Final = "application/vnd.oci.image.manifest.v1+json"
_PATH: Final = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file (bytes or a path to read), a link, or a folder when it has none of these."""

    data: bytes | Path | None = None
    link: str = ""
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class Image:
    name: str
    layers: Sequence[bytes]
    config: Mapping[str, Any] = field(default_factory=dict)
    os: str = "linux"
    os_version: str = ""


def make_layer(entries: Mapping[str, Entry]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in _with_folders(entries):
            entry = entries.get(name, Entry(mode=0o755))
            info = tarfile.TarInfo(name)
            info.mode = entry.mode
            if entry.link:
                info.type, info.linkname = tarfile.SYMTYPE, entry.link
                tar.addfile(info)
            elif entry.data is None:
                info.type = tarfile.DIRTYPE
                tar.addfile(info)
            else:
                data = entry.data.read_bytes() if isinstance(entry.data, Path) else entry.data
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def write_archive(path: Path, images: Iterable[Image]) -> None:
    blobs: dict[str, bytes] = {}
    manifests = [_add_image(blobs, image) for image in images]
    blobs["index.json"] = _json({"schemaVersion": 2, "manifests": manifests})
    blobs["oci-layout"] = _json({"imageLayoutVersion": "1.0.0"})
    part = path.with_suffix(".part")
    with tarfile.open(part, "w") as tar:
        for name, data in sorted(blobs.items()):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    part.replace(path)


def _with_folders(entries: Mapping[str, Entry]) -> list[str]:
    names = set(entries)
    for name in entries:
        parts = name.split("/")
        names.update("/".join(parts[:depth]) for depth in range(1, len(parts)))
    return sorted(names)


def _add_image(blobs: dict[str, bytes], image: Image) -> dict[str, Any]:
    env = {"Env": [_PATH]} if image.os == "linux" else {}
    document = {
        "architecture": "amd64",
        "os": image.os,
        "config": env | dict(image.config),
        "rootfs": {
            "type": "layers",
            "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in image.layers],
        },
    }
    if image.os_version:
        document["os.version"] = image.os_version
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST_TYPE,
        "config": _add(blobs, _CONFIG_TYPE, _json(document)),
        "layers": [_add(blobs, _LAYER_TYPE, layer) for layer in image.layers],
    }
    annotations = dict.fromkeys(
        ("io.containerd.image.name", "org.opencontainers.image.ref.name"), image.name
    )
    return _add(blobs, _MANIFEST_TYPE, _json(manifest)) | {"annotations": annotations}


def _add(blobs: dict[str, bytes], media_type: str, data: bytes) -> dict[str, Any]:
    digest = hashlib.sha256(data).hexdigest()
    blobs[f"blobs/sha256/{digest}"] = data
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}


def _json(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
