"""Files of one volume that get into each other's way."""

from collections.abc import Iterator
from typing import Any

from winkube.base.types import JsonObject

Path = tuple[str, str]  # the path, and what puts a file there


def overlap_warnings(volumes: Any) -> Iterator[str]:
    for volume in volumes or ():
        name = volume.get("name") or ""
        for kind, described in (
            ("configMap", "ConfigMap"),
            ("secret", "Secret"),
            ("downwardAPI", "DownwardAPI"),
        ):
            source = volume.get(kind)
            if source is not None:
                paths = [(item.get("path") or "", "") for item in source.get("items") or ()]
                what = _described(described, source)
                yield from (_warning(name, what, text) for text in _overlaps(paths))
        if volume.get("projected") is not None:
            yield from _projected(name, volume["projected"])


def _described(kind: str, source: JsonObject) -> str:
    if kind == "DownwardAPI":
        return kind
    return f'{kind} "{source.get("secretName") or source.get("name") or ""}"'


def _projected(name: str, projected: JsonObject) -> Iterator[str]:
    paths: list[Path] = []
    for source in projected.get("sources") or ():
        if not source:
            yield f'volume "{name}" (Projected) has no sources provided'
        paths += _paths(source)
    yield from (_warning(name, "Projected", text) for text in _overlaps(paths))


def _paths(source: JsonObject) -> list[Path]:
    for kind, described in (
        ("configMap", "ConfigMap"),
        ("secret", "Secret"),
        ("downwardAPI", "DownwardAPI"),
    ):
        items = (source.get(kind) or {}).get("items")
        if items:
            what = _described(described, source[kind])
            return [(item.get("path") or "", what) for item in items]
    token = source.get("serviceAccountToken")
    return [(token.get("path") or "", "ServiceAccountToken")] if token is not None else []


def _overlaps(paths: list[Path]) -> Iterator[str]:
    seen = _Folder()
    for number, (path, source) in enumerate(paths):
        own = path.rstrip("/")
        if own:
            entry = (number, _shown(own, source))
            met = sorted(seen.add(own.split("/"), entry))
            yield from (f"{entry[1]} with {other}" for _, other in met)


Entry = tuple[int, str]  # its number, and how it is shown


class _Folder:
    """What is at a path and below it: pods may have as many paths as they like."""

    __slots__ = ("entries", "inner")

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.inner: dict[str, _Folder] = {}

    def add(self, steps: list[str], entry: Entry) -> list[Entry]:
        """Put an entry at a path; and those that it meets, above, there and below."""
        here, met = self, []
        for step in steps:
            met += here.entries
            here = here.inner.setdefault(step, _Folder())
        below = [here]
        while below:
            folder = below.pop()
            met += folder.entries
            below += folder.inner.values()
        here.entries.append(entry)
        return met


def _shown(path: str, source: str) -> str:
    return f'"{path}" ({source})' if source else f'"{path}"'


def _warning(name: str, what: str, text: str) -> str:
    return f'volume "{name}" ({what}): overlapping paths: {text}'
