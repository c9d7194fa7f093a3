"""Blobs by digest, shared by all nodes of the machine: a file is whole and right, or not there."""

import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from winkube.runtime.oci.errors import ArchiveError
from winkube.runtime.oci.reference import is_digest

_CHUNK: Final = 1 << 20


class BlobWriter:
    """Takes bytes, and keeps them only when their digest is the promised one."""

    def __init__(self, file: BinaryIO, limit: int) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._limit = limit
        self.size = 0

    def write(self, data: bytes) -> None:
        self.size += len(data)
        if self._limit and self.size > self._limit:
            raise ArchiveError(f"a blob is longer than the {self._limit} bytes it should have")
        self._hash.update(data)
        self._file.write(data)

    @property
    def digest(self) -> str:
        return "sha256:" + self._hash.hexdigest()


class BlobStore:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, digest: str) -> Path:
        if not is_digest(digest):
            raise ArchiveError(f"{digest!r} is not a sha256 digest")
        return self._folder / digest.removeprefix("sha256:")

    def has(self, digest: str) -> bool:
        return self.path(digest).is_file()

    def read(self, digest: str, *, limit: int = 8 << 20) -> bytes:
        """A small blob (a manifest, a config) as bytes."""
        path = self.path(digest)
        if path.stat().st_size > limit:
            raise ArchiveError(f"blob {digest} is too large for a document")
        return path.read_bytes()

    @contextmanager
    def writing(self, digest: str = "", *, size: int = 0) -> Iterator[BlobWriter]:
        """Write a blob; without a digest it is stored under whatever its digest turns out to be."""
        self._folder.mkdir(parents=True, exist_ok=True)
        fd, name = tempfile.mkstemp(prefix=".part-", dir=self._folder)
        part = Path(name)
        try:
            with os.fdopen(fd, "wb") as file:
                writer = BlobWriter(file, size)
                yield writer
            if digest and writer.digest != digest:
                raise ArchiveError(f"blob {digest} has the digest {writer.digest}")
            part.replace(self.path(writer.digest))
        finally:
            part.unlink(missing_ok=True)

    def add(self, chunks: Iterable[bytes], digest: str = "") -> str:
        with self.writing(digest) as writer:
            for chunk in chunks:
                writer.write(chunk)
        return writer.digest

    def add_file(self, file: BinaryIO, digest: str = "") -> str:
        return self.add(iter(lambda: file.read(_CHUNK), b""), digest)

    def remove(self, digest: str) -> None:
        self.path(digest).unlink(missing_ok=True)
