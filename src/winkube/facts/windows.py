"""Windows versions: names, builds, the Kubernetes that supports them, the images they start."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from winkube.facts.errors import DataError, VersionError
from winkube.facts.hns import HnsVersion, parse_hns_version
from winkube.facts.table import load_table
from winkube.facts.version import COMPARE, Version, VersionRange, parse_range

_BOUND: Final = re.compile(r"(>=|<=|>|<|=)(\d+|host)")


@dataclass(frozen=True, slots=True)
class Emulated:
    """What an emulated machine of this version says beyond its build."""

    key: str  # the tag that Microsoft's images carry
    product: str
    revision: int
    release: str


@dataclass(frozen=True, slots=True)
class WindowsVersion:
    name: str
    build: int
    product: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    kubernetes: VersionRange
    hns: HnsVersion | None = None
    emulated: Emulated | None = None


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
                hns=parse_hns_version(entry["hns"]) if "hns" in entry else None,
                emulated=Emulated(**entry["emulated"]) if "emulated" in entry else None,
            )
            for entry in load_table("windows")
        )
    except (KeyError, TypeError, ValueError, VersionError) as error:
        raise DataError("windows.yaml", "entry", str(error)) from error


@cache
def builds_by_word() -> dict[str, int]:
    """Build numbers by every word that names a Windows version."""
    found: dict[str, int] = {}
    for version in windows_versions():
        for word in (version.name, str(version.build), *version.aliases, *version.tags):
            found[word.lower()] = version.build
    return found


@cache
def builds_by_tag() -> dict[str, int]:
    """Build numbers by the words that tags of Microsoft's images use."""
    return {tag.lower(): each.build for each in windows_versions() for tag in each.tags}


def name_of_build(build: int) -> str:
    for version in windows_versions():
        if version.build == build:
            return version.name
    return str(build)


def unsupported_reason(kubernetes: Version, build: int) -> str:
    """Why a Kubernetes has no nodes of a build; empty if it has, or if nobody listed the build."""
    for version in windows_versions():
        if version.build == build and kubernetes not in version.kubernetes:
            return f"{version.product} is supported by Kubernetes {version.kubernetes}"
    return ""


@cache
def runs_image(host: int, image: int) -> bool:
    """Whether a host starts an image of this build with process isolation."""
    for entry in load_table("host-image"):
        if _is_within(entry["hosts"], host, host):
            return _is_within(entry["images"], image, host)
    raise DataError("host-image.yaml", str(host), "no line for this host")


def _is_within(words: str, build: int, host: int) -> bool:
    """Read "host" or bounds such as ">=20348 <=host"."""
    if words == "host":
        return build == host
    bounds = _BOUND.findall(words)
    if not bounds or _BOUND.sub("", words).strip():
        raise DataError("host-image.yaml", words, "not a range of builds")
    return all(
        COMPARE[sign](build, host if bound == "host" else int(bound)) for sign, bound in bounds
    )
