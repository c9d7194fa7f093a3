"""Images that are never downloaded: their names stand for parts of the emulation.

Base-OS images resolve to the emulated base of the build their tag names; the IIS images are that
base with our own web server.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Final

from winkube.facts.images import base_images
from winkube.facts.windows import builds_by_tag
from winkube.machines.personality import Personality, personalities
from winkube.runtime.oci.errors import BuildMismatchError, ImageNotFoundError
from winkube.runtime.oci.model import Image, ImageConfig, to_config
from winkube.runtime.oci.reference import Reference

SERVERCORE, NANOSERVER, WINDOWS, IIS = "servercore", "nanoserver", "windows", "iis"

_VERSION: Final = re.compile(r"10\.0\.(\d{4,6})(?:\.(\d+))?")
_USERS: Final = {NANOSERVER: "ContainerUser"}
_COMMANDS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    NANOSERVER: ((), ("c:\\windows\\system32\\cmd.exe",)),
    SERVERCORE: ((), ("c:\\windows\\system32\\cmd.exe",)),
    WINDOWS: ((), ("c:\\windows\\system32\\cmd.exe",)),
    IIS: (("C:\\ServiceMonitor.exe", "w3svc"), ()),
}


@dataclass(frozen=True, slots=True)
class Builtin:
    kind: str
    build: int
    revision: int


def find_kind(reference: Reference) -> str | None:
    return base_images().get(reference.name)


def personality_of(build: int) -> Personality | None:
    return next((p for p in personalities().values() if p.build == build), None)


def _build_of(tag: str) -> int | None:
    version = _VERSION.search(tag)
    if version:
        return int(version[1])
    builds = builds_by_tag()
    return next((builds[word] for word in re.split(r"[-_.]", tag.lower()) if word in builds), None)


def resolve(reference: Reference, host: Personality) -> Builtin | None:
    """Which built-in image the name stands for on this host; None when it is no built-in's name."""
    kind = find_kind(reference)
    if kind is None:
        return None
    if reference.digest:
        # A digest names exact bytes of Microsoft's, and those are not here.
        raise ImageNotFoundError(str(reference))
    build = _build_of(reference.tag)
    if build is None:
        build = host.build
    if not host.runs_image_build(build):
        raise BuildMismatchError(build, host.build)
    personality = personality_of(build)
    if personality is None:
        raise BuildMismatchError(build, host.build)
    return Builtin(kind, build, personality.revision)


def to_image(builtin: Builtin, reference: Reference, size: int) -> Image:
    entrypoint, cmd = _COMMANDS[builtin.kind]
    config = ImageConfig(
        os_version=f"10.0.{builtin.build}.{builtin.revision}",
        entrypoint=entrypoint,
        cmd=cmd,
        user=_USERS.get(builtin.kind, ""),
        labels={"winkube.io/emulated": "true", "winkube.io/builtin": builtin.kind},
    )
    document = json.dumps(to_config(config), sort_keys=True).encode()
    digest = "sha256:" + hashlib.sha256(document).hexdigest()
    return Image(
        id=digest,
        config=config,
        tags=(str(reference),),
        digests=(f"{reference.name}@{digest}",),
        size=size,
        builtin=builtin.kind,
    )
