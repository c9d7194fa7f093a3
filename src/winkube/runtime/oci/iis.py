"""The files of the built-in IIS image: our web server under the names and places of IIS."""

from pathlib import Path


def ensure_iis(cache: Path) -> Path:
    return cache
