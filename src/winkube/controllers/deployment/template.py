"""Pod templates of a deployment: equality, hash, and the ReplicaSet made from one."""

import copy
from collections.abc import Iterable
from typing import Any

import orjson

from winkube.api.meta import labels_of, name_of, namespace_of, to_owner_reference
from winkube.base.ids import SUFFIX_ALPHABET
from winkube.base.types import JsonObject
from winkube.controllers.deployment.view import HASH_LABEL, by_age

_FNV_OFFSET, _FNV_PRIME = 0x811C9DC5, 0x01000193


def template_hash(template: JsonObject, collisions: int | None) -> str:
    """A short name for a template; a collision count gives another one for the same template."""
    data = orjson.dumps(_canonical(template), option=orjson.OPT_SORT_KEYS)
    value = _fnv1a(data)
    if collisions is not None:
        value = _fnv1a(collisions.to_bytes(8, "little"), value)
    # Digits become letters that spell no words (k8s.io/apimachinery: rand.SafeEncodeString).
    return "".join(SUFFIX_ALPHABET[ord(c) % len(SUFFIX_ALPHABET)] for c in str(value))


def _fnv1a(data: bytes, value: int = _FNV_OFFSET) -> int:
    for byte in data:
        value = ((value ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
    return value


def _canonical(value: Any) -> Any:
    """Without what is empty: absent and empty are the same template."""
    if isinstance(value, dict):
        found = {key: _canonical(item) for key, item in value.items() if item is not None}
        return {key: item for key, item in found.items() if item not in ({}, [])}
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    return value


def same_template(one: JsonObject, other: JsonObject) -> bool:
    return bool(_unhashed(one) == _unhashed(other))


def _unhashed(template: JsonObject) -> Any:
    metadata = dict(template.get("metadata") or {})
    labels = metadata.get("labels") or {}
    metadata["labels"] = {key: labels[key] for key in labels if key != HASH_LABEL}
    metadata.pop("creationTimestamp", None)
    return _canonical({**template, "metadata": metadata})


def find_new(deployment: JsonObject, replica_sets: Iterable[JsonObject]) -> JsonObject | None:
    """The oldest set with the deployment's template: there may be several after a collision."""
    wanted = deployment["spec"]["template"]
    for replica_set in by_age(replica_sets):
        if same_template(replica_set["spec"]["template"], wanted):
            return replica_set
    return None


def new_replica_set(
    deployment: JsonObject, replicas: int, annotations: dict[str, str]
) -> JsonObject:
    spec = deployment["spec"]
    collisions = (deployment.get("status") or {}).get("collisionCount")
    digest = template_hash(spec["template"], collisions)
    template = copy.deepcopy(spec["template"])
    template["metadata"] = {
        **(template.get("metadata") or {}),
        "labels": {**labels_of(template), HASH_LABEL: digest},
    }
    selector = copy.deepcopy(spec["selector"])
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), HASH_LABEL: digest}
    body: JsonObject = {"replicas": replicas, "selector": selector, "template": template}
    if spec.get("minReadySeconds"):
        body["minReadySeconds"] = spec["minReadySeconds"]
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{name_of(deployment)}-{digest}",
            "namespace": namespace_of(deployment),
            "labels": dict(template["metadata"]["labels"]),
            "annotations": annotations,
            "ownerReferences": [to_owner_reference(deployment)],
        },
        "spec": body,
    }
