"""What a request's path names: a resource (group, version, namespace, name, subresource) or not.

The shapes are upstream's (k8s.io/apiserver: pkg/endpoints/request/requestinfo.go).
"""

import functools
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

# Below a namespace's name these are subresources of the namespace, anything else is a resource.
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})


@dataclass(frozen=True, slots=True)
class Target:
    group: str
    version: str
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: str = ""  # what follows the subresource (proxy paths)
    watch: bool = False  # the deprecated /watch/ prefix

    @property
    def is_ambiguous(self) -> bool:
        """Whether another server could read another resource from the same path.

        One that decodes ``%2F`` before it splits, or follows ``..``, would do what nobody was asked
        about.
        """
        parts = (self.resource, self.namespace, self.name, self.subresource)
        return any("/" in part or part in (".", "..") for part in parts)


class Query(dict[str, str]):
    """Of a repeated parameter the first value counts, as Go's Query().Get; ``pairs`` has all."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        super().__init__(reversed(pairs))
        self.pairs = pairs


def split_url(raw: str) -> tuple[str, dict[str, str]]:
    path, _, query = raw.partition("?")
    return path, Query(parse_qsl(query, keep_blank_values=True)) if query else {}


# Controllers write to few collections, again and again.
@functools.lru_cache(maxsize=1024)
def parse_target(path: str) -> Target | None:
    """None when the path lies outside /api/<version> and /apis/<group>/<version>."""
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) >= 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) >= 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    if "%" in path:
        rest = [unquote(part) for part in rest]
    watch = bool(rest) and rest[0] == "watch"
    if watch:
        rest = rest[1:]
    return _resource_target(group, version, rest, watch=watch)


def _resource_target(group: str, version: str, rest: list[str], *, watch: bool) -> Target:
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces" and not _is_namespace_itself(rest):
        namespace, rest = rest[1], rest[2:]
    padded = [*rest[:3], "", "", ""]
    return Target(
        group=group,
        version=version,
        resource=padded[0],
        namespace=namespace,
        name=padded[1],
        subresource=padded[2],
        rest="/".join(rest[3:]),
        watch=watch,
    )


def _is_namespace_itself(rest: list[str]) -> bool:
    return len(rest) == 3 and rest[2] in _NAMESPACE_SUBRESOURCES
