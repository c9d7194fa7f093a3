"""OCI archives of small images, the same bytes each time: what ``docker save`` would give."""

import gzip
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.runtime.oci.archive import NAME_KEYS
from winkube.runtime.oci.manifest import MANIFEST_TYPES
from winkube.runtime.oci.model import ImageConfig, to_config
from winkube.runtime.oci.reference import digest_of

_LAYER_TYPE: Final = "application/vnd.oci.image.layer.v1.tar+gzip"
_CONFIG_TYPE: Final = "application/vnd.oci.image.config.v1+json"


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """A file of an image we make: its bytes, or a link's target."""

    data: bytes = b""
    mode: int = 0o644
    link: str = ""


@dataclass(frozen=True, slots=True)
class ArchiveImage:
    """An image to write: each layer maps paths to files (Windows: below ``Files/``)."""

    name: str
    config: ImageConfig
    layers: Sequence[Mapping[str, ArchiveFile]] = field(default_factory=tuple)


def _json(data: Any) -> bytes:
    return json.dumps(data, sort_keys=True, separators=(",", ":")).encode()


def _add(tar: tarfile.TarFile, name: str, file: ArchiveFile) -> None:
    info = tarfile.TarInfo(name)
    info.mode = file.mode
    if file.link:
        info.type, info.linkname = tarfile.SYMTYPE, file.link
        tar.addfile(info)
        return
    info.size = len(file.data)
    tar.addfile(info, io.BytesIO(file.data))


def make_layer(files: Mapping[str, ArchiveFile]) -> tuple[bytes, str]:
    """A compressed layer and its diff id; the same files give the same bytes."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        made: set[str] = set()
        for name, file in sorted(files.items()):
            parts = name.split("/")
            for depth in range(1, len(parts)):
                folder = "/".join(parts[:depth])
                if folder not in made:
                    made.add(folder)
                    info = tarfile.TarInfo(folder)
                    info.type, info.mode = tarfile.DIRTYPE, 0o755
                    tar.addfile(info)
            _add(tar, name, file)
    return gzip.compress(plain.getvalue(), mtime=0), digest_of(plain.getvalue())


def write_archive(path: Path, image: ArchiveImage) -> str:
    """Write an OCI archive with one image; its config's digest, which is the image's id."""
    layers = [make_layer(files) for files in image.layers]
    config = _json(to_config(replace(image.config, diff_ids=tuple(d for _, d in layers))))
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPES[0],
            "config": _descriptor(config, _CONFIG_TYPE),
            "layers": [_descriptor(data, _LAYER_TYPE) for data, _ in layers],
        }
    )
    platform = {"os": image.config.os, "architecture": image.config.architecture}
    if image.config.os_version:
        platform["os.version"] = image.config.os_version
    entry = _descriptor(manifest, MANIFEST_TYPES[0]) | {
        "platform": platform,
        "annotations": dict.fromkeys(NAME_KEYS, image.name),
    }
    files = {
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
        "index.json": _json({"schemaVersion": 2, "manifests": [entry]}),
    }
    for data in (config, manifest, *(data for data, _ in layers)):
        files[f"blobs/sha256/{digest_of(data).removeprefix('sha256:')}"] = data
    with tarfile.open(path, "w") as tar:
        for name, data in files.items():
            _add(tar, name, ArchiveFile(data))
    return digest_of(config)


def _descriptor(data: bytes, media_type: str) -> JsonObject:
    return {"mediaType": media_type, "digest": digest_of(data), "size": len(data)}
