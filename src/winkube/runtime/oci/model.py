"""Images as values: what a config says, and what the store remembers of an image."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from winkube.base.types import JsonObject
from winkube.runtime.oci.errors import ArchiveError
from winkube.runtime.oci.reference import is_digest

# History of the layers Microsoft ships; the emulated base stands in for them.
_BASE_LAYER_MARKS = ("Apply image ", "Install update ")


@dataclass(frozen=True, slots=True)
class ImageConfig:
    os: str = "windows"
    os_version: str = ""
    architecture: str = "amd64"
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    working_dir: str = ""
    user: str = ""
    args_escaped: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    diff_ids: tuple[str, ...] = ()
    base_layers: int = 0  # how many of the lowest layers are the Windows base itself

    @property
    def build(self) -> int | None:
        """The Windows build the image was made for; None when it does not say."""
        parts = self.os_version.split(".")
        return int(parts[2]) if len(parts) >= 3 and parts[2].isdecimal() else None


def _strings(value: Any, name: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ArchiveError(f"the image's config has no list of strings at {name}")
    return tuple(value)


def _digests(value: Any) -> tuple[str, ...]:
    """They become names of folders: nothing but a digest may."""
    found = _strings(value, "diff_ids")
    for item in found:
        if not is_digest(item):
            raise ArchiveError(f"the image's config names a layer {item!r}, which is no digest")
    return found


def _pairs(items: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name, _, value in (item.partition("=") for item in items) if name}


def _labels(value: Any) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise ArchiveError("the image's config has no mapping of strings at Labels")
    return value


def _count_base_layers(history: Any) -> int:
    """Base layers come first; the entries of a config's history that have files are its layers."""
    layers = [
        str(entry.get("created_by") or "")
        for entry in (history if isinstance(history, list) else ())
        if isinstance(entry, dict) and not entry.get("empty_layer")
    ]
    count = 0
    while count < len(layers) and layers[count].startswith(_BASE_LAYER_MARKS):
        count += 1
    return count


def parse_config(data: JsonObject) -> ImageConfig:
    """Read an image config (OCI image-spec ``config.md``; Docker's has the same fields)."""
    config = data.get("config") or {}
    rootfs = data.get("rootfs") or {}
    if not isinstance(config, dict) or not isinstance(rootfs, dict):
        raise ArchiveError("the image's config is not an image config")
    return ImageConfig(
        os=str(data.get("os", "")),
        os_version=str(data.get("os.version", "")),
        architecture=str(data.get("architecture", "")),
        entrypoint=_strings(config.get("Entrypoint"), "Entrypoint"),
        cmd=_strings(config.get("Cmd"), "Cmd"),
        env=_pairs(_strings(config.get("Env"), "Env")),
        working_dir=str(config.get("WorkingDir") or ""),
        user=str(config.get("User") or ""),
        args_escaped=bool(config.get("ArgsEscaped")),
        labels=_labels(config.get("Labels")),
        diff_ids=_digests(rootfs.get("diff_ids")),
        base_layers=_count_base_layers(data.get("history")),
    )


def to_config(config: ImageConfig) -> JsonObject:
    """The other way: a config document for an image we make ourselves."""
    inner: JsonObject = {
        "Entrypoint": list(config.entrypoint) or None,
        "Cmd": list(config.cmd) or None,
        "Env": [f"{name}={value}" for name, value in config.env.items()] or None,
        "WorkingDir": config.working_dir or None,
        "User": config.user or None,
        "ArgsEscaped": config.args_escaped or None,
        "Labels": dict(config.labels) or None,
    }
    document: JsonObject = {
        "architecture": config.architecture,
        "os": config.os,
        "config": {key: value for key, value in inner.items() if value is not None},
        "rootfs": {"type": "layers", "diff_ids": list(config.diff_ids)},
    }
    if config.os_version:
        document["os.version"] = config.os_version
    return document


@dataclass(frozen=True, slots=True)
class Image:
    """An image in the store; ``id`` is the digest of its config."""

    id: str
    config: ImageConfig
    tags: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()  # name@sha256:...
    size: int = 0
    layers: tuple[str, ...] = ()  # chain ids of unpacked layers, lowest first
    builtin: str = ""  # which built-in files it has, for images that were never pulled
    blobs: tuple[str, ...] = ()  # digests of the blobs it keeps alive
