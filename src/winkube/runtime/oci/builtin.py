"""Images that are never downloaded: their names stand for parts of the emulation.

Base-OS images resolve to the emulated base of the build their tag names; the IIS images are that
base with our own web server. Builds by tag: the tables of Microsoft's container registry.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Final

from winkube.machines.personality import PERSONALITIES, Personality
from winkube.runtime.oci.errors import BuildMismatchError, ImageNotFoundError
from winkube.runtime.oci.model import Image, ImageConfig, to_config
from winkube.runtime.oci.reference import Reference

SERVERCORE, NANOSERVER, WINDOWS, IIS = "servercore", "nanoserver", "windows", "iis"

_REPOSITORIES: Final = {
    "mcr.microsoft.com/windows": WINDOWS,
    "mcr.microsoft.com/windows/server": WINDOWS,
    "mcr.microsoft.com/windows/servercore": SERVERCORE,
    "mcr.microsoft.com/windows/servercore/insider": SERVERCORE,
    "mcr.microsoft.com/windows/nanoserver": NANOSERVER,
    "mcr.microsoft.com/windows/nanoserver/insider": NANOSERVER,
    "mcr.microsoft.com/windowsservercore": SERVERCORE,
    "mcr.microsoft.com/nanoserver": NANOSERVER,
    "docker.io/microsoft/windowsservercore": SERVERCORE,
    "docker.io/microsoft/nanoserver": NANOSERVER,
    "mcr.microsoft.com/windows/servercore/iis": IIS,
    "docker.io/microsoft/iis": IIS,
}
# Parts of tags that name a release; those without a personality are known, and never fit.
_BUILDS: Final = {
    "ltsc2016": 14393,
    "1607": 14393,
    "sac2016": 14393,
    "1709": 16299,
    "1803": 17134,
    "1809": 17763,
    "ltsc2019": 17763,
    "1903": 18362,
    "1909": 18363,
    "2004": 19041,
    "20h2": 19042,
    "ltsc2022": 20348,
    "ltsc2025": 26100,
}
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
    return _REPOSITORIES.get(reference.name)


def personality_of(build: int) -> Personality | None:
    return next((p for p in PERSONALITIES.values() if p.build == build), None)


def _build_of(tag: str) -> int | None:
    version = _VERSION.search(tag)
    if version:
        return int(version[1])
    words = re.split(r"[-_.]", tag.lower())
    return next((_BUILDS[word] for word in words if word in _BUILDS), None)


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
