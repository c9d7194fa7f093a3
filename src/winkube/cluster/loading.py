"""Images on nodes: what is there, and how an archive gets there."""

import asyncio
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from winkube.cluster import images
from winkube.cluster.errors import ClusterError
from winkube.cluster.state import ClusterState
from winkube.wire import cri
from winkube.wire.cri_client import CriClient

_REF_NAME: Final = "org.opencontainers.image.ref.name"
_MAX_JSON: Final = 4 << 20
_MAX_DEPTH: Final = 3


class ArchiveError(ClusterError):
    def __init__(self, archive: Path, problem: str) -> None:
        super().__init__(f"{archive}: {problem}")


@dataclass(frozen=True, slots=True)
class ImageRow:
    node: str
    image: str
    size: int


async def list_images(state: ClusterState) -> list[ImageRow]:
    rows = []
    for node in state.spec.nodes:
        client = CriClient(state.paths.node(node.name).cri_socket)
        try:
            answer = await client.call("ListImages", cri.ListImagesRequest(), timeout=10.0)
        finally:
            await client.close()
        for image in answer.images:
            name = next(iter(image.repo_tags), image.id)
            rows.append(ImageRow(node.name, name, image.size))
    return sorted(rows, key=lambda row: (row.node, row.image))


async def load_archive(state: ClusterState, archive: Path) -> list[str]:
    """Give an archive's images to every node of their operating system; say what went where."""
    systems = await asyncio.to_thread(read_systems, archive)
    if not systems:
        raise ArchiveError(archive, "no image in it: it must be a docker or OCI archive")
    lines = []
    for node in state.spec.nodes:
        if node.os not in systems:
            continue
        socket = state.paths.node(node.name).cri_socket
        if node.os == "linux":
            await images.ctr_import(socket, archive)
            names = systems["linux"]
        else:
            names = await _load_windows(socket, archive)
        lines += [f"{node.name}: {name}" for name in names]
    if not lines:
        found = " and ".join(sorted(systems))
        raise ArchiveError(archive, f"its images are for {found}, and no node runs that")
    return lines


async def _load_windows(socket: Path, archive: Path) -> list[str]:
    client = CriClient(socket)
    try:
        spec = cri.ImageSpec(image=f"archive:{archive}")
        answer = await client.call("PullImage", cri.PullImageRequest(image=spec), timeout=600.0)
    finally:
        await client.close()
    return [name for name in answer.image_ref.split(",") if name]


def read_systems(archive: Path) -> dict[str, list[str]]:
    """Operating system -> names of the images for it, read from the archive's own documents."""
    try:
        with tarfile.open(archive) as tar:
            return _Documents(tar).systems()
    except (OSError, tarfile.TarError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ArchiveError(archive, f"not a docker or OCI archive ({error})") from error


class _Documents:
    """The JSON documents of an archive, by name; sizes are bounded, nothing is unpacked."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self._members = {member.name.removeprefix("./"): member for member in tar}

    def systems(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for system, name in self._docker() if "manifest.json" in self._members else self._oci():
            found.setdefault(system, []).append(name)
        return found

    def _docker(self) -> Iterator[tuple[str, str]]:
        for entry in self._json("manifest.json"):
            config = self._json(entry["Config"])
            for name in entry.get("RepoTags") or [entry["Config"]]:
                yield config.get("os", "linux"), name

    def _oci(self) -> Iterator[tuple[str, str]]:
        for entry in self._json("index.json")["manifests"]:
            notes = entry.get("annotations") or {}
            name = notes.get("io.containerd.image.name") or notes.get(_REF_NAME) or entry["digest"]
            for system in self._oci_systems(entry["digest"], depth=0):
                yield system, name

    def _oci_systems(self, digest: str, depth: int) -> Iterator[str]:
        document = self._json(f"blobs/{digest.replace(':', '/')}")
        if "config" in document:
            yield self._json(f"blobs/{document['config']['digest'].replace(':', '/')}")["os"]
        elif depth < _MAX_DEPTH:
            for entry in document["manifests"]:
                platform = entry.get("platform") or {}
                if "os" in platform:
                    yield platform["os"]
                else:
                    yield from self._oci_systems(entry["digest"], depth + 1)

    def _json(self, name: str) -> Any:
        member = self._members[name]
        file = self._tar.extractfile(member)
        if file is None or member.size > _MAX_JSON:
            raise ValueError(f"{name} is not a document of reasonable size")
        return json.load(file)
