"""Another image in a workload's template."""

from typing import Any

from tests.upstream.scenario import Step
from tests.upstream.steps import change
from tests.upstream.workloads.shapes import notes

Json = Any


def roll_to(kind: str, tag: str, **more: str) -> Step:
    return change(kind, "web", to_image(tag, **more), strategic=True)


def to_image(tag: str, **more: str) -> Json:
    container = {"name": "main", "image": tag}
    made: Json = {"spec": {"template": {"spec": {"containers": [container]}}}}
    if more:
        made["spec"]["template"]["metadata"] = {"annotations": notes(**more)}
    return made
