"""What is plain is left as it is by checks and by a round trip; doubt goes the long way."""

import random
from typing import Any

import orjson
import pytest

from winkube.api.decode import clone
from winkube.api.fields import check_fields
from winkube.api.kinds import Kind, served_kinds
from winkube.api.roundtrip import round_trip
from winkube.api.schema import load_schema
from winkube.apiserver.auth.user import ANONYMOUS
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.accept import accept
from winkube.apiserver.registry.plain import is_plain, is_plain_binding

SCHEMA = load_schema()
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}
VALUES: tuple[Any, ...] = (
    "text", "", None, 0, 1, 1.5, True, False, {}, [], {"a": "b"}, {"a": ""}, {"a": 1}, {"a": None},
    [OWNER], [{**OWNER, "blockOwnerDeletion": True}], [{**OWNER, "controller": False}], [{}],
    [{**OWNER, "other": "x"}], [{"uid": "u"}], [None], "2026-01-01T00:00:00Z",
)  # fmt: skip
FIELDS = (
    "name", "generateName", "namespace", "labels", "annotations", "ownerReferences", "uid",
    "finalizers", "creationTimestamp", "generation", "managedFields", "unknown",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_plain_objects_need_no_check_and_no_round_trip(seed: int) -> None:
    chance = random.Random(seed)
    pods = served_kinds(SCHEMA).by_gvk("", "v1", "Pod")
    assert pods is not None
    plain = 0
    for _ in range(200):
        fields = chance.sample(FIELDS, chance.randint(0, 4))
        metadata = {field: chance.choice(VALUES) for field in fields}
        obj = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": {}}
        if not is_plain(obj):
            continue
        plain += 1
        assert check_fields(SCHEMA, pods, obj).clean, metadata
        before = clone(metadata)
        round_trip(SCHEMA, pods, obj)
        assert obj["metadata"] == before
    assert plain


def test_what_a_controller_writes_is_plain() -> None:
    metadata = {"generateName": "web-", "labels": {"app": "web"}, "ownerReferences": [OWNER]}
    assert is_plain({"metadata": metadata, "spec": {}})
    assert not is_plain({"metadata": {**metadata, "creationTimestamp": None}, "spec": {}})
    assert not is_plain({"metadata": metadata, "spec": {}, "more": 1})


BINDING = {
    "apiVersion": "v1",
    "kind": "Binding",
    "metadata": {"name": "p", "namespace": "n", "uid": "u"},
    "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
}


@pytest.mark.parametrize("seed", range(20))
def test_plain_bindings_are_accepted_as_they_are(seed: int) -> None:
    chance = random.Random(seed)
    kind = Kind("", "v1", "Binding", "pods", "pod", True)
    plain = 0
    for _ in range(200):
        obj: Any = clone(BINDING)
        part = chance.choice([obj, obj["metadata"], obj["target"]])
        for field in chance.sample([*part, "labels", "fieldPath", "unknown"], chance.randint(0, 2)):
            part[field] = chance.choice(VALUES)
        if not is_plain_binding(obj):
            continue
        plain += 1
        options = WriteOptions(ANONYMOUS)
        accepted = accept(SCHEMA, kind, clone(obj), options, raw=orjson.dumps(obj))
        assert accepted == obj
        assert not options.warnings
    assert plain


def test_the_schedulers_binding_is_plain() -> None:
    assert is_plain_binding(BINDING)
    assert not is_plain_binding({**BINDING, "metadata": None})
    assert not is_plain_binding({**BINDING, "kind": "Pod"})
