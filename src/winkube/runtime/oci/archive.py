"""Image archives: read what ``docker save`` and OCI tools write.

Both kinds are tar files. Docker's has ``manifest.json`` naming config and layers by path; OCI's has
``index.json`` and blobs by digest. Files inside are copied into the blob store, nothing is
extracted by its own name.
"""

import json
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.machines.personality import Personality
from winkube.runtime.oci.blobs import BlobStore
from winkube.runtime.oci.errors import ArchiveError
from winkube.runtime.oci.manifest import (
    Descriptor,
    Manifest,
    choose_variant,
    is_index,
    parse_manifest,
)

NAME_KEYS: Final = ("io.containerd.image.name", "org.opencontainers.image.ref.name")
_DOCUMENT_LIMIT: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class LoadedImage:
    names: tuple[str, ...]
    manifest: Manifest


def load_archive(path: Path, blobs: BlobStore, host: Personality) -> list[LoadedImage]:
    """Copy the images of an archive that are meant for this host into the store."""
    try:
        with tarfile.open(path) as tar:
            members = {entry.name.removeprefix("./"): entry for entry in tar if entry.isfile()}
            archive = _Archive(tar, members, blobs)
            if "index.json" in members:
                return archive.load_oci(host)
            if "manifest.json" in members:
                return archive.load_docker()
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise ArchiveError(f"{path.name} is not an image archive: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        # Documents of the archive are anybody's: one of another shape is named, not followed.
        raise ArchiveError(f"{path.name} has documents of no image archive: {error!r}") from error
    raise ArchiveError(f"{path.name} has neither an index.json nor a manifest.json")


class _Archive:
    def __init__(
        self, tar: tarfile.TarFile, members: dict[str, tarfile.TarInfo], blobs: BlobStore
    ) -> None:
        self._tar = tar
        self._members = members
        self._blobs = blobs

    def _open(self, name: str) -> Any:
        entry = self._members.get(name)
        if entry is None:
            raise ArchiveError(f"the archive has no {name}")
        return self._tar.extractfile(entry)

    def _document(self, name: str) -> Any:
        entry = self._members.get(name)
        if entry is None or entry.size > _DOCUMENT_LIMIT:
            raise ArchiveError(f"the archive has no readable {name}")
        try:
            return json.loads(self._open(name).read())
        except ValueError:
            raise ArchiveError(f"{name} in the archive is not JSON") from None

    def _blob_name(self, digest: str) -> str:
        self._blobs.path(digest)  # refuses anything that is no digest
        return f"blobs/sha256/{digest.removeprefix('sha256:')}"

    def _keep(self, descriptor: Descriptor) -> Descriptor:
        if not self._blobs.has(descriptor.digest):
            name = self._blob_name(descriptor.digest)
            if name in self._members:
                self._blobs.add_file(self._open(name), descriptor.digest)
            elif not descriptor.is_foreign:
                raise ArchiveError(f"the archive lacks the blob {descriptor.digest}")
        return descriptor

    def load_oci(self, host: Personality) -> list[LoadedImage]:
        return [
            self._load_oci_entry(entry, host)
            for entry in self._document("index.json").get("manifests") or []
        ]

    def _load_oci_entry(self, entry: JsonObject, host: Personality) -> LoadedImage:
        document = self._document(self._blob_name(str(entry.get("digest"))))
        if is_index(document):
            variant = choose_variant(document, host)
            document = self._document(self._blob_name(variant.digest))
        manifest = parse_manifest(document)
        for descriptor in (manifest.config, *manifest.layers):
            self._keep(descriptor)
        annotations = entry.get("annotations") or {}
        # A bare tag is what tools write when the archive has no name for its image.
        names = [annotations[key] for key in NAME_KEYS if "/" in annotations.get(key, "")]
        return LoadedImage(tuple(dict.fromkeys(names)), manifest)

    def load_docker(self) -> list[LoadedImage]:
        images = []
        for entry in self._document("manifest.json"):
            config = self._blobs.add_file(self._open(entry["Config"]))
            layers = [self._blobs.add_file(self._open(name)) for name in entry["Layers"]]
            manifest = Manifest(Descriptor(config), tuple(map(Descriptor, layers)))
            images.append(LoadedImage(tuple(entry.get("RepoTags") or ()), manifest))
        return images
