"""The images of a node: which there are, where their files are, and how more arrive."""

import asyncio
import json
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from winkube.base.clock import Clock, SystemClock
from winkube.machines.wine.base import measure, open_base
from winkube.runtime.config import RegistryAuth, RuntimeConfig
from winkube.runtime.oci import builtin
from winkube.runtime.oci.archive import load_archive
from winkube.runtime.oci.blobs import BlobStore
from winkube.runtime.oci.collect import adding, collect, register
from winkube.runtime.oci.errors import ArchiveError, ImageNotFoundError, RegistryError
from winkube.runtime.oci.index import ImageIndex, full_name
from winkube.runtime.oci.manifest import (
    Descriptor,
    Manifest,
    check_config,
    choose_variant,
    is_index,
    parse_manifest,
)
from winkube.runtime.oci.model import Image, ImageConfig, parse_config
from winkube.runtime.oci.reference import Reference, digest_of, is_digest, parse_reference
from winkube.runtime.oci.registry import (
    RegistryClient,
    open_session,
    parse_document,
    plan_endpoints,
)
from winkube.runtime.oci.unpack import chain_id, unpack_layer
from winkube.runtime.toolchain import ensure_iis

_PARALLEL: Final = 3  # blobs of one image at a time
_KEEP_SECONDS: Final = 7 * 86400  # a cluster made anew need not download again what it had


class ImageService:
    def __init__(self, config: RuntimeConfig, clock: Clock | None = None) -> None:
        self._config = config
        self._clock = clock or SystemClock()
        self._index = ImageIndex(config.images)
        self._blobs = BlobStore(config.cache / "blobs")

    def load(self) -> None:
        self._index.load()
        register(self._config.cache, self._config.root)

    def get(self, name: str) -> Image:
        image = self._index.find(name)
        if image is None:
            raise ImageNotFoundError(name)
        return image

    def find(self, name: str) -> Image | None:
        return self._index.find(name)

    def all(self) -> list[Image]:
        return list(self._index)

    async def remove(self, name: str) -> None:
        """Remove an image and the files that no other image or container needs."""
        self._forget(name)
        await asyncio.to_thread(collect, self._config.cache, unused_since=self._clock.now())

    async def tidy(self) -> None:
        """Remove files that clusters which are no more have left a while ago."""
        before = self._clock.now() - _KEEP_SECONDS
        await asyncio.to_thread(collect, self._config.cache, unused_since=before)

    def _forget(self, name: str) -> None:
        """Drop the image, or only the tag when the image has others; absent is fine."""
        image = self._index.find(name)
        if image is None:
            return
        tags = () if is_digest(name) else tuple(t for t in image.tags if t != full_name(name))
        if tags and tags != image.tags:
            self._index.save(replace(image, tags=tags))
        else:
            self._index.drop(image.id)

    # How images arrive

    async def pull(self, name: str, auth: RegistryAuth | None = None) -> Image:
        reference = parse_reference(name)
        found = builtin.resolve(reference, self._config.personality)
        if found is not None:
            size = await asyncio.to_thread(self._builtin_size, found)
            return self._index.add(builtin.to_image(found, reference, size))
        registries = self._config.registries
        auth = auth or registries.auths.get(reference.registry)
        failures: list[RegistryError | ImageNotFoundError] = []
        async with adding(self._config.cache), open_session() as session:
            for endpoint in plan_endpoints(reference.registry, registries):
                client = RegistryClient(session, endpoint, auth)
                try:
                    return await self._pull_from(client, reference)
                except (RegistryError, ImageNotFoundError) as error:
                    failures.append(error)
        raise failures[-1]

    async def _pull_from(self, client: RegistryClient, reference: Reference) -> Image:
        data, digest = await client.manifest(reference)
        top = digest_of(data)
        # What the registry says of its own answer is checked like what the user asked for.
        for promised in (reference.digest, digest if is_digest(digest) else ""):
            if promised and top != promised:
                raise RegistryError(str(reference), f"the manifest has the digest {top}")
        document = parse_document(data, str(reference))
        if is_index(document):
            variant = choose_variant(document, self._config.personality)
            chosen = replace(reference, digest=variant.digest)
            data, _ = await client.manifest(chosen)
            if digest_of(data) != variant.digest:
                raise RegistryError(str(chosen), f"the manifest has the digest {digest_of(data)}")
            document = parse_document(data, str(chosen))
        manifest = parse_manifest(document)
        await client.blob(reference.repository, manifest.config, self._blobs)
        config = self._read_config(manifest.config)
        check_config(config, self._config.personality)
        wanted = own_layers(manifest, config)
        limit = asyncio.Semaphore(_PARALLEL)

        async def fetch(descriptor: Descriptor) -> None:
            async with limit:
                await client.blob(reference.repository, descriptor, self._blobs)

        await _all(*(fetch(descriptor) for descriptor, _ in wanted))
        tags = (str(replace(reference, digest="")),) if reference.tag else ()
        image = await self._unpack(manifest, config)
        return self._index.add(replace(image, tags=tags, digests=(f"{reference.name}@{top}",)))

    def _builtin_size(self, found: builtin.Builtin) -> int:
        size = measure(open_base(self._config.cache))
        if found.kind == builtin.IIS:
            layer = ensure_iis(self._config.cache)
            size += sum(path.lstat().st_size for path in layer.rglob("*") if path.is_file())
        return size

    async def load_archive(self, path: Path) -> list[Image]:
        """Add the images of a file; those for another host are refused."""
        async with adding(self._config.cache):
            return await self._load_archive(path)

    async def _load_archive(self, path: Path) -> list[Image]:
        loaded = await asyncio.to_thread(load_archive, path, self._blobs, self._config.personality)
        images = []
        for item in loaded:
            config = self._read_config(item.manifest.config)
            check_config(config, self._config.personality)
            image = await self._unpack(item.manifest, config)
            tags = tuple(str(parse_reference(name)) for name in item.names)
            images.append(self._index.add(replace(image, tags=tags)))
        return images

    def _read_config(self, descriptor: Descriptor) -> ImageConfig:
        try:
            document = json.loads(self._blobs.read(descriptor.digest))
        except (ValueError, OSError) as error:
            raise ArchiveError(f"the image's config cannot be read: {error}") from error
        if not isinstance(document, dict):
            raise ArchiveError("the image's config is not an object")
        return parse_config(document)

    async def _unpack(self, manifest: Manifest, config: ImageConfig) -> Image:
        """Unpack the layers above the Windows base; the image without its names."""
        base = open_base(self._config.cache)
        below: list[Path] = [base.rootfs]
        chain, chains = "", []
        for descriptor, diff_id in own_layers(manifest, config):
            chain = chain_id(chain, diff_id)
            target = self._layer_folder(chain)
            blob = self._blobs.path(descriptor.digest)
            await asyncio.to_thread(unpack_layer, blob, target, tuple(below), diff_id)
            below.insert(0, target)
            chains.append(chain)
        blobs = [manifest.config, *(d for d, _ in own_layers(manifest, config))]
        return Image(
            id=manifest.config.digest,
            config=config,
            size=sum(self._blobs.path(blob.digest).stat().st_size for blob in blobs),
            layers=tuple(chains),
            blobs=tuple(blob.digest for blob in blobs),
        )

    def _layer_folder(self, chain: str) -> Path:
        base = open_base(self._config.cache)
        return self._config.cache / "layers" / base.digest / chain.removeprefix("sha256:")

    async def layers(self, image: Image) -> list[Path]:
        """The folders of the image's layers, lowest first; made again where they are missing."""
        if image.builtin == builtin.IIS:
            return [await asyncio.to_thread(ensure_iis, self._config.cache)]
        if image.builtin:
            return []
        folders = [self._layer_folder(chain) for chain in image.layers]
        if not all(folder.is_dir() for folder in folders):
            # A new base has new layer folders: spelling of names depends on it.
            config, *layers = (Descriptor(digest) for digest in image.blobs)
            kept = replace(
                image.config,
                diff_ids=image.config.diff_ids[-len(layers) :] if layers else (),
                base_layers=0,
            )
            async with adding(self._config.cache):
                await self._unpack(Manifest(config, tuple(layers)), kept)
        return folders


def own_layers(manifest: Manifest, config: ImageConfig) -> list[tuple[Descriptor, str]]:
    """The layers above the Windows base, which the emulated base stands in for."""
    if len(manifest.layers) != len(config.diff_ids):
        raise ArchiveError("the image's config and manifest disagree about its layers")
    pairs = list(zip(manifest.layers, config.diff_ids, strict=True))
    above = pairs[config.base_layers :]
    return [pair for pair in above if not pair[0].is_foreign]


async def _all(*work: Coroutine[Any, Any, None]) -> None:
    """Run side by side; the first failure stops the rest and is raised as itself."""
    try:
        async with asyncio.TaskGroup() as group:
            for number, item in enumerate(work):
                group.create_task(item, name=f"blob-{number}")
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
