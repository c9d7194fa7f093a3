"""The node's image records: a JSON file each, named after the image's id.

Other processes may add images (``winkube load``): the folder is read again when it has changed.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from winkube.runtime.oci.errors import InvalidReferenceError
from winkube.runtime.oci.model import Image, ImageConfig
from winkube.runtime.oci.reference import parse_reference


class ImageIndex:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._images: dict[str, Image] = {}
        self._seen = 0

    def __iter__(self) -> Iterator[Image]:
        self._refresh()
        return iter(list(self._images.values()))

    def load(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._refresh()

    def _refresh(self) -> None:
        changed = self._folder.stat().st_mtime_ns
        if changed == self._seen:
            return
        self._seen = changed
        images = (_read(path) for path in self._folder.glob("*.json"))
        self._images = {image.id: image for image in images if image is not None}

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
        self._refresh()
        bare = name.removeprefix("sha256:")
        if not bare:
            return None
        if f"sha256:{bare}" in self._images:
            return self._images[f"sha256:{bare}"]
        wanted = full_name(name)
        for image in self._images.values():
            if wanted in image.tags or wanted in image.digests:
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


def full_name(name: str) -> str:
    try:
        return str(parse_reference(name))
    except InvalidReferenceError:
        return name


def _read(path: Path) -> Image | None:
    try:
        return _to_image(json.loads(path.read_text()))
    except (OSError, ValueError, KeyError, TypeError):
        return None  # half written by a version that is no more: the image can be pulled again


def _to_image(data: dict[str, Any]) -> Image:
    config = dict(data.pop("config"))
    for key in ("entrypoint", "cmd", "diff_ids"):
        config[key] = tuple(config[key])
    for key in ("tags", "digests", "layers", "blobs"):
        data[key] = tuple(data[key])
    return Image(config=ImageConfig(**config), **data)
