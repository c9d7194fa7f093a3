"""Manifests and indexes: which variant of an image runs here, and which blobs it is made of."""

from dataclasses import dataclass
from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.machines.personality import Personality
from winkube.runtime.oci.errors import ArchiveError, BuildMismatchError, PlatformError
from winkube.runtime.oci.model import ImageConfig
from winkube.runtime.oci.reference import is_digest

INDEX_TYPES: Final = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
MANIFEST_TYPES: Final = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_FOREIGN: Final = ("foreign", "nondistributable")


@dataclass(frozen=True, slots=True)
class Descriptor:
    digest: str
    size: int = 0
    media_type: str = ""

    @property
    def is_foreign(self) -> bool:
        """A layer that only its maker may hand out: Microsoft's base layers of old."""
        return any(word in self.media_type for word in _FOREIGN)


@dataclass(frozen=True, slots=True)
class Manifest:
    config: Descriptor
    layers: tuple[Descriptor, ...]


def _to_descriptor(data: Any) -> Descriptor:
    if not isinstance(data, dict) or not is_digest(str(data.get("digest"))):
        raise ArchiveError("a manifest has a descriptor without a digest")
    size = data.get("size") or 0
    if not isinstance(size, int) or size < 0:
        raise ArchiveError("a manifest has a descriptor with an impossible size")
    return Descriptor(data["digest"], size, str(data.get("mediaType") or ""))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def is_index(document: JsonObject) -> bool:
    return document.get("mediaType") in INDEX_TYPES or "manifests" in document


def parse_manifest(document: JsonObject) -> Manifest:
    if document.get("schemaVersion") != 2 or "config" not in document:
        raise ArchiveError("only image manifests of schema version 2 are supported")
    return Manifest(
        _to_descriptor(document["config"]),
        tuple(map(_to_descriptor, _list(document.get("layers")))),
    )


def _build_of(platform: JsonObject) -> int | None:
    parts = str(platform.get("os.version", "")).split(".")
    return int(parts[2]) if len(parts) >= 3 and parts[2].isdecimal() else None


def choose_variant(index: JsonObject, host: Personality) -> Descriptor:
    """The entry of an index for this host: the nearest build that it can run."""
    entries = [entry for entry in _list(index.get("manifests")) if isinstance(entry, dict)]
    fitting: list[tuple[int, Descriptor]] = []
    for entry in entries:
        platform = entry.get("platform")
        platform = platform if isinstance(platform, dict) else {}
        if platform.get("os") != "windows" or platform.get("architecture") != "amd64":
            continue
        build = _build_of(platform)
        if build is None or host.runs_image_build(build):
            fitting.append((build or 0, _to_descriptor(entry)))
    if not fitting:
        platforms = [entry.get("platform") for entry in entries]
        kinds = {str(p.get("os", "?")) for p in platforms if isinstance(p, dict)}
        raise PlatformError(host.windows_build, ", ".join(sorted(kinds)))
    return max(fitting, key=lambda pair: pair[0])[1]


def check_config(config: ImageConfig, host: Personality) -> None:
    """Whether an image that came without an index fits this host."""
    if config.os != "windows" or config.architecture != "amd64":
        raise PlatformError(host.windows_build, f"{config.os}/{config.architecture}")
    build = config.build
    if build is not None and not host.runs_image_build(build):
        raise BuildMismatchError(build, host.build)
