"""Fields of a pod as its containers may ask for them: ``metadata.labels['a']``."""

from typing import Final

from winkube.base.errors import WinkubeError

_KNOWN: Final = frozenset(
    ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace",
     "metadata.uid", "spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName",
     "spec.schedulerName", "status.phase", "status.hostIP", "status.hostIPs", "status.podIP",
     "status.podIPs")
)  # fmt: skip
_SUBSCRIPTED: Final = ("metadata.annotations", "metadata.labels")


class FieldPathError(WinkubeError):
    pass


def pod_field(version: str, path: str) -> tuple[str, str | None]:
    """The field, and the key in it that was asked for."""
    if version != "v1":
        raise FieldPathError(f"unsupported pod version: {version}")
    base, bracket, rest = path.partition("['")
    if bracket and base and rest.endswith("']"):
        if base not in _SUBSCRIPTED:
            raise FieldPathError(f"field label does not support subscript: {path}")
        return base, rest[:-2]
    if path == "spec.host":  # its name long ago
        return "spec.nodeName", None
    if path not in _KNOWN:
        raise FieldPathError(f"field label not supported: {path}")
    return path, None
