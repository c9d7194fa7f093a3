"""Typed access to the version tables in data/tables."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from winkube.rules.errors import DataError, VersionError
from winkube.rules.version import Version, VersionRange, parse_range, parse_version

DATA: Final = Path(__file__).parent / "data"
NETWORKS: Final = ("l2bridge", "overlay", "transparent", "l2tunnel", "nat")
RUNTIMES: Final = ("containerd", "docker", "cri-dockerd")
LATEST: Final = Version(1, 37)
OLDEST: Final = Version(1, 5)
_WS2022, _WS2025 = 20348, 26100


@dataclass(frozen=True, slots=True)
class WindowsVersion:
    name: str
    build: int
    product: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    kubernetes: VersionRange


@dataclass(frozen=True, slots=True)
class ApiVersionLife:
    """From when to when the server knows a kind under an API version."""

    api_version: str
    kind: str
    added: Version | None
    removed: Version | None
    use: str


@cache
def load_table(name: str) -> Any:
    path = DATA / "tables" / f"{name}.yaml"
    try:
        return yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
    except (OSError, yaml.YAMLError) as error:
        raise DataError(path.name, name, str(error)) from error


@cache
def windows_versions() -> tuple[WindowsVersion, ...]:
    try:
        return tuple(
            WindowsVersion(
                name=entry["name"],
                build=entry["build"],
                product=entry["product"],
                tags=tuple(entry["tags"]),
                aliases=tuple(entry["aliases"]),
                kubernetes=parse_range(entry["kubernetes"]),
            )
            for entry in load_table("windows")
        )
    except (KeyError, TypeError, VersionError) as error:
        raise DataError("windows.yaml", "entry", str(error)) from error


@cache
def api_version_lives() -> dict[tuple[str, str], ApiVersionLife]:
    lives = {}
    for entry in load_table("api-versions"):
        for kind in entry["kinds"]:
            added, removed = entry.get("added"), entry.get("removed")
            lives[entry["apiVersion"], kind] = ApiVersionLife(
                api_version=entry["apiVersion"],
                kind=kind,
                added=parse_version(added) if added else None,
                removed=parse_version(removed) if removed else None,
                use=entry["use"],
            )
    return lives


@cache
def builds_by_word() -> dict[str, int]:
    """Build numbers by every word that names a Windows version."""
    found: dict[str, int] = {}
    for version in windows_versions():
        for word in (version.name, str(version.build), *version.aliases, *version.tags):
            found[word.lower()] = version.build
    return found


def name_of_build(build: int) -> str:
    for version in windows_versions():
        if version.build == build:
            return version.name
    return str(build)


def runs_image(host: int, image: int) -> bool:
    """Whether a host starts an image of this build with process isolation.

    hcsshim's osversion.CheckHostAndContainerCompat: from Windows Server 2022 on, the ABI is stable.
    """
    if host <= _WS2022:
        return image == host
    oldest = _WS2022 if host <= _WS2025 else _WS2025
    return oldest <= image <= host
