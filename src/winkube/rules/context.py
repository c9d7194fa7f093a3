"""What a template may know beside the object it looks at."""

from collections.abc import Mapping
from dataclasses import dataclass

from winkube.base.types import JsonObject
from winkube.rules.model import Target
from winkube.rules.placement import Placement


@dataclass(frozen=True, slots=True)
class Context:
    owner: JsonObject  # the whole object; the pod itself is what the template is given
    placement: Placement
    target: Target
    runtime_classes: Mapping[str, JsonObject]
