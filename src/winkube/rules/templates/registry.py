"""The templates by name."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from winkube.base.types import JsonObject
from winkube.rules.context import Context
from winkube.rules.model import Hit
from winkube.rules.templates import fields, host_process, placing, versions


class Template(NamedTuple):
    parse: Callable[[Mapping[str, Any]], Any]
    find: Callable[[JsonObject, Any, Context], Iterator[Hit]]
    by_target: bool = False  # the answer differs from target to target


TEMPLATES: Final[Mapping[str, Template]] = {
    "forbid-field": Template(fields.parse_fields, fields.forbid_field),
    "require-field": Template(fields.parse_required, fields.require_field),
    "too-many": Template(fields.parse_count, fields.too_many),
    "placement": Template(placing.parse_verdict, placing.placement),
    "host-process": Template(host_process.parse_check, host_process.host_process),
    "image-build": Template(versions.parse_nothing, versions.image_build, by_target=True),
    "api-version": Template(versions.parse_nothing, versions.api_version, by_target=True),
    "windows-supported": Template(
        versions.parse_nothing, versions.windows_supported, by_target=True
    ),
    "no-check": Template(versions.parse_nothing, fields.nothing),
}
