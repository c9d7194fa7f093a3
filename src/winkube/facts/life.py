"""From when to when Kubernetes knows a thing: API versions, flags, feature gates."""

from dataclasses import dataclass
from functools import cache

from winkube.facts.errors import DataError, VersionError
from winkube.facts.table import load_table
from winkube.facts.version import Version, VersionRange, parse_range, parse_version


@dataclass(frozen=True, slots=True)
class ApiVersionLife:
    """From when to when the server knows a kind under an API version."""

    api_version: str
    kind: str
    added: Version | None
    removed: Version | None
    use: str


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
def flag_lives(program: str) -> dict[str, VersionRange]:
    """Flags of a program that not every version knows, and the versions that do."""
    return _ranges("flags", program)


@cache
def gate_lives() -> dict[str, VersionRange]:
    return _ranges("feature-gates", "gates")


def has_flags_of(program: str) -> bool:
    return program in load_table("flags")


def _ranges(table: str, part: str) -> dict[str, VersionRange]:
    try:
        entries = load_table(table)[part]
        return {name: parse_range(entry["kubernetes"]) for name, entry in entries.items()}
    except (KeyError, TypeError, VersionError) as error:
        raise DataError(f"{table}.yaml", part, str(error)) from error
