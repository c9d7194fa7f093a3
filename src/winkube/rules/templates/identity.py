"""Checks of who a container runs as: the kubelet compares names where Linux compares numbers."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.rules.context import Context
from winkube.rules.image import parse_image
from winkube.rules.model import Hit, Path
from winkube.rules.paths import find, first, parse_pattern
from winkube.rules.templates.choice import parse_choice

_CONTAINERS: Final = parse_pattern("spec.allContainers[*]")
_ADMINISTRATOR: Final = "containeradministrator"
_USER: Final = ("securityContext", "windowsOptions", "runAsUserName")
_NON_ROOT: Final = ("securityContext", "runAsNonRoot")
# Images whose own default user is ContainerAdministrator.
_ADMINISTRATORS: Final = ("mcr.microsoft.com/windows", "mcr.microsoft.com/windows/servercore")


def parse_user(params: Mapping[str, Any]) -> str:
    return parse_choice(params, "user", ("named", "default"))


def administrator(found: JsonObject, params: str, context: Context) -> Iterator[Hit]:
    """A container that must not be root and runs as ContainerAdministrator.

    ``named``: by runAsUserName; ``default``: by an image that says nothing else.
    """
    for path, container in find(found, _CONTAINERS):
        if _own_or_pods(container, found, _NON_ROOT) is not True:
            continue
        user = _own_or_pods(container, found, _USER)
        if params == "named" and isinstance(user, str) and user.casefold() == _ADMINISTRATOR:
            yield Hit(_place(path, container, _USER), user)
        elif params == "default" and user is None and _is_administrators(container):
            yield Hit((*path, "image"))


def _own_or_pods(container: Any, pod: JsonObject, steps: Path) -> Any:
    own = first(container, *steps)
    return first(pod, "spec", *steps) if own is None else own


def _place(path: Path, container: Any, steps: Path) -> Path:
    return (*path, *steps) if first(container, *steps) is not None else ("spec", *steps)


def _is_administrators(container: Any) -> bool:
    name = first(container, "image")
    return isinstance(name, str) and parse_image(name).repository in _ADMINISTRATORS
