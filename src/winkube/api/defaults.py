"""Defaults, applied in place to an object as upstream's versioned defaulting does."""

from winkube.api.defaulting.registry import DEFAULTS
from winkube.api.kinds import Kind
from winkube.base.types import JsonObject


def apply_defaults(kind: Kind, obj: JsonObject) -> None:
    """Fill what the author left out; a second application changes nothing."""
    function = DEFAULTS.get((kind.group, kind.kind))
    if function is not None:
        function(obj)
