"""Names of images that speak of Windows: Microsoft's base images, and the pause image."""

from functools import cache

from winkube.facts.errors import DataError
from winkube.facts.table import load_table
from winkube.facts.version import Version, parse_range


@cache
def base_images() -> dict[str, str]:
    """The flavour (servercore, nanoserver, windows, iis) by the full name of the repository."""
    try:
        return {
            repository: entry["flavour"]
            for entry in load_table("base-images")
            for repository in entry["repositories"]
        }
    except (KeyError, TypeError) as error:
        raise DataError("base-images.yaml", "entry", str(error)) from error


def pause_image(kubernetes: Version) -> str:
    """The image whose containers hold a Windows pod's namespace."""
    for entry in load_table("pause-images"):
        if kubernetes in parse_range(entry["kubernetes"]):
            return str(entry["image"])
    raise DataError("pause-images.yaml", str(kubernetes), "no line for this version")
