"""The patch in a ControllerRevision: it makes a workload's pod template what it was.

Clients tell the revision of now by comparing its text with their own, so keys have the order in
which Go writes a map.
"""

import json

from winkube.base.types import JsonObject


def to_template_patch(template: JsonObject) -> JsonObject:
    copied: JsonObject = json.loads(json.dumps({**template, "$patch": "replace"}))
    for kind in ("containers", "initContainers"):
        for container in (copied.get("spec") or {}).get(kind) or ():
            # A struct is written even when it is empty (k8s.io/api: core/v1 Container).
            container.setdefault("resources", {})
    ordered: JsonObject = json.loads(json.dumps({"spec": {"template": copied}}, sort_keys=True))
    return ordered
