"""The images of a node: which there are, where their files are, and how more arrive."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from winkube.runtime.config import RuntimeConfig
from winkube.runtime.oci import builtin
from winkube.runtime.oci.errors import ImageNotFoundError, InvalidReferenceError
from winkube.runtime.oci.model import Image, ImageConfig
from winkube.runtime.oci.reference import Reference, is_digest, parse_reference
from winkube.runtime.toolchain import ensure_iis


class ImageIndex:
    """The node's image records: a JSON file each, named after the image's id."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._images: dict[str, Image] = {}

    def __iter__(self) -> Iterator[Image]:
        return iter(list(self._images.values()))

    def load(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        for path in self._folder.glob("*.json"):
            data = json.loads(path.read_text())
            image = _to_image(data)
            self._images[image.id] = image

    def _path(self, image_id: str) -> Path:
        return self._folder / f"{image_id.removeprefix('sha256:')}.json"

    def save(self, image: Image) -> None:
        path = self._path(image.id)
        part = path.with_suffix(".part")
        part.write_text(json.dumps(asdict(image)))
        part.replace(path)
        self._images[image.id] = image

    def drop(self, image_id: str) -> None:
        self._path(image_id).unlink(missing_ok=True)
        self._images.pop(image_id, None)

    def find(self, name: str) -> Image | None:
        """An image by id (whole, bare or the beginning of one), name with tag, or digest."""
        if not name:
            return None
        bare = name.removeprefix("sha256:")
        for image in self._images.values():
            if image.id.removeprefix("sha256:") == bare:
                return image
        try:
            wanted = str(parse_reference(name))
        except InvalidReferenceError:
            wanted = ""
        for image in self._images.values():
            if wanted and (wanted in image.tags or wanted in image.digests):
                return image
        matches = [i for i in self._images if len(bare) >= 6 and i[7:].startswith(bare)]
        return self._images[matches[0]] if len(matches) == 1 else None

    def add(self, image: Image) -> Image:
        """Store the image; its names move here from any image that had them."""
        for other in self:
            if other.id == image.id:
                image = replace(
                    image,
                    tags=tuple(dict.fromkeys((*other.tags, *image.tags))),
                    digests=tuple(dict.fromkeys((*image.digests, *other.digests))),
                )
            elif set(other.tags) & set(image.tags):
                self.save(replace(other, tags=tuple(t for t in other.tags if t not in image.tags)))
        self.save(image)
        return image


def _to_image(data: dict[str, Any]) -> Image:
    config = dict(data.pop("config"))
    for key in ("entrypoint", "cmd", "diff_ids"):
        config[key] = tuple(config[key])
    for key in ("tags", "digests", "layers", "blobs"):
        data[key] = tuple(data[key])
    return Image(config=ImageConfig(**config), **data)


class ImageService:
    def __init__(self, config: RuntimeConfig) -> None:
        self._config = config
        self._index = ImageIndex(config.images)

    def load(self) -> None:
        self._index.load()

    def get(self, name: str) -> Image:
        image = self._index.find(name)
        if image is None:
            raise ImageNotFoundError(name)
        return image

    def find(self, name: str) -> Image | None:
        return self._index.find(name)

    def all(self) -> list[Image]:
        return list(self._index)

    def remove(self, name: str) -> None:
        """Remove the image, or only the tag when the image has others; absent is fine."""
        image = self._index.find(name)
        if image is None:
            return
        tags = () if is_digest(name) else tuple(t for t in image.tags if t != _full_name(name))
        if tags and tags != image.tags:
            self._index.save(replace(image, tags=tags))
        else:
            self._index.drop(image.id)

    async def pull(self, name: str) -> Image:
        reference = parse_reference(name)
        found = builtin.resolve(reference, self._config.personality)
        if found is not None:
            return self._index.add(builtin.to_image(found, reference))
        return await self._pull_from_registry(reference)

    async def _pull_from_registry(self, reference: Reference) -> Image:
        raise ImageNotFoundError(str(reference))

    async def layers(self, image: Image) -> list[Path]:
        """The folders of the image's layers, lowest first."""
        if image.builtin == builtin.IIS:
            return [await asyncio.to_thread(ensure_iis, self._config.cache)]
        return []


def _full_name(name: str) -> str:
    try:
        return str(parse_reference(name))
    except InvalidReferenceError:
        return name
