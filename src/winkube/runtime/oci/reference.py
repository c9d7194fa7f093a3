"""Image names: ``[host[:port]/]path[:tag][@digest]`` as Docker and containerd read them."""

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from winkube.runtime.oci.errors import InvalidReferenceError

DEFAULT_REGISTRY: Final = "docker.io"
_DOMAIN: Final = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]+)?"
_PATH: Final = re.compile(
    r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*"
)
_TAG: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Reference:
    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def name(self) -> str:
        return f"{self.registry}/{self.repository}"

    @property
    def target(self) -> str:
        """What to ask the registry for."""
        return self.digest or self.tag

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return self.name + tag + (f"@{self.digest}" if self.digest else "")


def digest_of(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def is_digest(text: str) -> bool:
    return bool(_DIGEST.fullmatch(text))


def parse_reference(text: str) -> Reference:
    """Read a name with Docker's defaults: docker.io, library/, and the tag latest."""
    name, at, digest = text.partition("@")
    if at and not _DIGEST.fullmatch(digest):
        raise InvalidReferenceError(text)
    head, slash, rest = name.partition("/")
    if slash and ("." in head or ":" in head or head == "localhost"):
        registry, path = head, rest
    else:
        registry, path = DEFAULT_REGISTRY, name
    path, colon, tag = path.partition(":")
    if registry == "index.docker.io":
        registry = DEFAULT_REGISTRY
    if registry == DEFAULT_REGISTRY and "/" not in path:
        path = f"library/{path}"
    if not re.fullmatch(_DOMAIN, registry) or not _PATH.fullmatch(path):
        raise InvalidReferenceError(text)
    if colon and not _TAG.fullmatch(tag):
        raise InvalidReferenceError(text)
    return Reference(registry, path, tag or ("" if digest else "latest"), digest)
