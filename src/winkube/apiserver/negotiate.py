"""What the client accepts: JSON or YAML, and as the object, a Table or metadata only.

Also the spellings of aggregated discovery, which travel as parameters of the media type.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from winkube.api.errors import NotAcceptableError

JSON: Final = "application/json"
YAML: Final = "application/yaml"
_WILDCARD: Final = "*/*"
_PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_PRODUCED: Final = frozenset({JSON, YAML, _PROTOBUF, _WILDCARD})
_NAMES: Final = f"{JSON}, {YAML}, {_PROTOBUF}"
_STREAM_NAMES: Final = f"{JSON};stream=watch, {_PROTOBUF};stream=watch"
_META_VERSIONS: Final = frozenset({"v1", "v1beta1"})


@dataclass(frozen=True, slots=True)
class Output:
    media: str = JSON
    shape: str = ""  # "", Table, PartialObjectMetadata, PartialObjectMetadataList
    version: str = "v1"  # of meta.k8s.io, when a shape is asked for

    @property
    def content_type(self) -> str:
        return self.media


PLAIN: Final = Output()
_SHAPES: Final = frozenset({"Table", "PartialObjectMetadata", "PartialObjectMetadataList"})


@dataclass(frozen=True, slots=True)
class MediaRange:
    media: str
    parameters: tuple[tuple[str, str], ...]

    def get(self, key: str) -> str:
        return dict(self.parameters).get(key, "")


@lru_cache(maxsize=256)
def parse_accept(header: str) -> tuple[MediaRange, ...]:
    """The media ranges, best first; equal weights keep the client's order."""
    ranges: list[tuple[float, int, MediaRange]] = []
    for index, text in enumerate(header.split(",")):
        media, *rest = (part.strip() for part in text.split(";"))
        if not media:
            continue
        pairs = [part.partition("=")[::2] for part in rest if part]
        parameters = {key.strip(): value.strip().strip('"') for key, value in pairs}
        weight = _weight(parameters.pop("q", "1"))
        if weight > 0:
            ranges.append((-weight, index, MediaRange(media.lower(), tuple(parameters.items()))))
    return tuple(entry for _, _, entry in sorted(ranges, key=lambda item: item[:2]))


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0


@lru_cache(maxsize=256)
def negotiate(header: str, *, many: bool = False, tables: bool = True) -> Output:
    """The first range we can serve; NotAcceptableError when there is none."""
    if not header.strip():
        return PLAIN
    entries = parse_accept(header)
    for entry in entries:
        output = _output(entry)
        if output is not None and (tables or output.shape != "Table"):
            return output
    if any(entry.media in _PRODUCED for entry in entries):
        # Protobuf is read here, not written: upstream would answer who accepts nothing else.
        names = f"{JSON}, {YAML}" if _asks_protobuf_alone(entries) else _NAMES
        raise NotAcceptableError(f"only the following media types are accepted: {names}")
    names = f"{_NAMES}, {_STREAM_NAMES}" if many else _NAMES
    raise NotAcceptableError(
        f"406: Not Acceptable\n\nAvailable representations: {names}", details={}
    )


def _asks_protobuf_alone(entries: tuple[MediaRange, ...]) -> bool:
    return all(entry.media not in _PRODUCED - {_PROTOBUF} for entry in entries)


def _output(entry: MediaRange) -> Output | None:
    shape = entry.get("as")
    if shape and (shape not in _SHAPES or entry.get("g") != "meta.k8s.io"):
        return None
    version = entry.get("v") or "v1"
    if shape and version not in _META_VERSIONS:
        return None
    if entry.media == JSON or entry.media == _WILDCARD:
        return Output(JSON, shape, version)
    if entry.media in (YAML, "text/yaml", "application/x-yaml"):
        return Output(YAML, shape, version)
    return None
