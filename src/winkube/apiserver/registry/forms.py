"""What a write changes, told in every version of a kind that somebody owns fields in."""

from collections.abc import Callable

from winkube.api.kinds import Kind
from winkube.api.schema import Schema, Shape
from winkube.apiserver.apply.compare import Found
from winkube.apiserver.apply.managers import changes
from winkube.apiserver.apply.reset import Reset
from winkube.apiserver.form.conversion import as_version
from winkube.base.types import JsonObject


def changes_by_version(
    schema: Schema, kind: Kind, states: tuple[JsonObject, JsonObject], reset: Reset
) -> Callable[[str], Found]:
    """Of two states in the version of ``kind``; other versions are made when they are asked for."""
    known: dict[str, Found] = {}  # as functools.cache, which takes longer to make than to fill

    def changes_in(version: str) -> Found:
        if version not in known:
            forms = [as_version(kind, state, version) for state in states]
            shape = form_shape(schema, kind, version)
            known[version] = changes(shape, forms[0], forms[1], reset)
        return known[version]

    return changes_in


def form_shape(schema: Schema, kind: Kind, version: str) -> Shape:
    """Versions that are served no longer are taken for the one that is."""
    group, _, number = version.rpartition("/")
    definition = schema.for_kind((group, number, kind.kind)) or schema.for_kind(kind.gvk)
    assert definition is not None, kind
    return definition.shape
