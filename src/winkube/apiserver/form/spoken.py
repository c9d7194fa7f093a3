"""The kinds that subresources speak: an object of its own, or the options of a connection."""

import functools
from typing import Any, Final

from winkube.api.errors import BadRequestError
from winkube.api.kinds import Kind
from winkube.base.types import JsonObject

# Where it is not the parent's own.
_SPEAKS: Final = {
    ("pods", "binding"): ("", "v1", "Binding"),
    ("pods", "eviction"): ("policy", "v1", "Eviction"),
    ("pods", "attach"): ("", "v1", "PodAttachOptions"),
    ("pods", "exec"): ("", "v1", "PodExecOptions"),
    ("pods", "portforward"): ("", "v1", "PodPortForwardOptions"),
    ("pods", "proxy"): ("", "v1", "PodProxyOptions"),
    ("nodes", "proxy"): ("", "v1", "NodeProxyOptions"),
    ("services", "proxy"): ("", "v1", "ServiceProxyOptions"),
    ("serviceaccounts", "token"): ("authentication.k8s.io", "v1", "TokenRequest"),
}
_SCALE: Final = ("autoscaling", "v1", "Scale")
# What the options of connections hold; a list is named by what is in it.
_OPTIONS: Final[dict[str, tuple[type, bool]]] = {
    "stdin": (bool, False),
    "stdout": (bool, False),
    "stderr": (bool, False),
    "tty": (bool, False),
    "container": (str, False),
    "command": (str, True),
    "ports": (int, True),
    "path": (str, False),
}


def subresource_kind(kind: Kind, subresource: str) -> tuple[str, str, str]:
    if subresource == "scale":
        return _SCALE
    return _SPEAKS.get((kind.plural, subresource), kind.gvk)


@functools.cache
def spoken_kind(kind: Kind, subresource: str) -> Kind:
    """The parent's own, or one that is not kept anywhere."""
    group, version, name = subresource_kind(kind, subresource)
    if (group, version, name) == kind.gvk:
        return kind
    return Kind(group, version, name, kind.plural, kind.singular, kind.namespaced)


def accept_options(document: Any) -> JsonObject:
    """The options of a connection as somebody changed them: what is known, of the right type."""
    for name, (wanted, listed) in _OPTIONS.items():
        found = document.get(name)
        values = found if listed and isinstance(found, list) else [found]
        if found is None:
            continue
        if listed != isinstance(found, list) or not all(type(each) is wanted for each in values):
            raise BadRequestError(f"{name}: a value of another type is expected")
    known = ("kind", "apiVersion", *_OPTIONS)
    return {name: document[name] for name in known if document.get(name) is not None}
