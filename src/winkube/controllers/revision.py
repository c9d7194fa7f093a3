"""ControllerRevisions: what is saved is the patch that makes a workload's pod template what it was.

Clients tell the revision of now by comparing its text with their own, so keys have the order in
which Go writes a map.
"""

import json

from winkube.api.meta import annotations_of, labels_of, namespace_of, to_owner_reference
from winkube.base.types import JsonObject


def to_template_patch(template: JsonObject) -> JsonObject:
    copied: JsonObject = json.loads(json.dumps({**template, "$patch": "replace"}))
    for kind in ("containers", "initContainers"):
        for container in (copied.get("spec") or {}).get(kind) or ():
            # A struct is written even when it is empty (k8s.io/api: core/v1 Container).
            container.setdefault("resources", {})
    ordered: JsonObject = json.loads(json.dumps({"spec": {"template": copied}}, sort_keys=True))
    return ordered


def to_revision(owner: JsonObject, name: str, hash_: tuple[str, str], number: int) -> JsonObject:
    """What the owner's template is now; ``hash_`` is the label that tells revisions apart."""
    template = owner["spec"]["template"]
    metadata: JsonObject = {
        "name": name,
        "namespace": namespace_of(owner),
        "labels": {**labels_of(template), hash_[0]: hash_[1]},
        "ownerReferences": [to_owner_reference(owner)],
    }
    if annotations_of(owner):
        metadata["annotations"] = dict(annotations_of(owner))
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": metadata,
        "data": to_template_patch(template),
        "revision": number,
    }
