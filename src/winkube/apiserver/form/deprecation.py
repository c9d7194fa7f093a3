"""What upstream tells clients of kinds they should no longer use, by the version that began it."""

from collections.abc import Mapping
from typing import Final

from winkube.api.kinds import Kind

# (group, version, kind) -> the minor version since when, and what to use instead.
_DEPRECATED: Final[Mapping[tuple[str, str, str], tuple[int, str]]] = {
    ("", "v1", "ComponentStatus"): (19, ""),
    ("", "v1", "Endpoints"): (33, "discovery.k8s.io/v1 EndpointSlice"),
}


class Deprecations:
    def __init__(self, kubernetes_version: str) -> None:
        self._minor = int(kubernetes_version.split(".")[1])

    def warning(self, kind: Kind) -> str:
        since, instead = _DEPRECATED.get(kind.gvk, (1 << 31, ""))
        if self._minor < since:
            return ""
        text = f"{kind.api_version} {kind.kind} is deprecated in v1.{since}+"
        return f"{text}; use {instead}" if instead else text
