"""Names of images, as far as the API looks at them: the tag decides when to pull."""

import functools
import re
from typing import Final

_COMPONENT: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_DOMAIN: Final = (
    r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
    r"(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*(?::[0-9]+)?"
)
_NAME: Final = re.compile(
    rf"(?P<name>(?:(?:{_DOMAIN}|\[[a-fA-F0-9:]+\](?::[0-9]+)?)/)?{_COMPONENT}(?:/{_COMPONENT})*)"
    r"(?::(?P<tag>[\w][\w.-]{0,127}))?"
    r"(?P<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)
_MAX_PATH: Final = 255
_IDENTIFIER: Final = re.compile(r"[a-f0-9]{64}")


@functools.lru_cache(maxsize=1024)
def tag_of(image: str) -> str:
    """``latest`` when neither tag nor digest is given; nothing for what is no name of an image."""
    match = _NAME.fullmatch(image)
    if match is None or _IDENTIFIER.fullmatch(image):
        return ""
    if len(_path(match["name"])) > _MAX_PATH:
        return ""
    return match["tag"] or ("" if match["digest"] else "latest")


def _path(name: str) -> str:
    """The name in its registry."""
    first, slash, rest = name.partition("/")
    if not slash:
        return f"library/{name}"
    is_domain = first == "localhost" or "." in first or ":" in first or first != first.lower()
    return rest if is_domain else name
