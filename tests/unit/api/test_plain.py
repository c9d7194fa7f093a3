"""What is plain is completed as the walks along the schema would; doubt goes to the walks."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from winkube.api.convert import convert_numbers
from winkube.api.decode import clone
from winkube.api.fields import check_fields
from winkube.api.kinds import Kind, served_kinds
from winkube.api.plain import complete_plain
from winkube.api.roundtrip import gives_empty, round_trip
from winkube.api.schema import load_schema
from winkube.base.types import JsonObject

SCHEMA = load_schema()
KINDS = served_kinds(SCHEMA)
RECORDED = Path(__file__).parents[2] / "data" / "upstream" / "api"
TIME = "2026-01-31T00:00:00Z"
VALUES: tuple[Any, ...] = (
    "text", "", "10", "100m", "1024Mi", "0", None, 0, 1, -1, 1.0, 1.5, 2**31, 2**63, True, False,
    {}, [], {"a": "b"}, {"a": ""}, {"a": 1}, {"a": None}, [None], [{}], ["a"], [""], [1],
    TIME, "2026-02-30T00:00:00Z", "2026-01-01T00:00:00+01:00", "0001-01-01T00:00:00Z",
    "2026-01-01T00:00:00.000001Z", "2026-01-01T00:00:00.5Z", "é", "aGk=",
)  # fmt: skip


def _recorded() -> list[tuple[Kind, JsonObject]]:
    found = []
    for path in sorted(RECORDED.glob("*.json")):
        for steps in orjson.loads(
            path.read_bytes().replace(b'"<time>"', f'"{TIME}"'.encode())
        ).values():
            for step in steps:
                body: Any = step["body"] if isinstance(step, dict) and "body" in step else None
                kind = _kind(body) if isinstance(body, dict) else None
                if kind is not None:
                    found.append((kind, body))
    return found


def _kind(body: JsonObject) -> Kind | None:
    group, _, version = str(body.get("apiVersion")).rpartition("/")
    return KINDS.by_gvk(group, version, str(body.get("kind")))


RECORDS = _recorded()


def _is_walked_alike(kind: Kind, obj: JsonObject) -> bool:
    """Whether it is plain; whatever is, the walks have nothing to say of and complete the same."""
    walked, given = clone(obj), clone(obj)
    if not complete_plain(SCHEMA, kind.gvk, obj):
        assert obj == given
        return False
    report = check_fields(SCHEMA, kind, walked)
    assert report.clean
    assert not report.needs_text
    convert_numbers(SCHEMA, kind, walked)
    assert _text(walked) == _text(given)
    assert not gives_empty(SCHEMA, kind, walked)
    assert round_trip(SCHEMA, kind, walked) == []
    assert _text(walked) == _text(obj)
    return True


def _text(obj: Any) -> bytes:
    """By which one is no true and no 1.0."""
    return orjson.dumps(obj, option=orjson.OPT_SORT_KEYS)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in list(pairs):
        yield value, key
        if isinstance(child, (dict, list)):
            yield from _places(child)


def test_most_of_what_upstream_answers_is_plain() -> None:
    plain = sum(_is_walked_alike(kind, clone(body)) for kind, body in RECORDS)
    assert plain > len(RECORDS) // 2 > 1000


@pytest.mark.parametrize("seed", range(10))
def test_what_was_changed_at_random_is_plain_or_walked(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(2000):
        kind, body = chance.choice(RECORDS)
        obj = clone(body)
        for _ in range(chance.randint(1, 3)):
            holder, key = chance.choice(list(_places(obj)))
            match chance.randrange(3):
                case 0:
                    holder[key] = clone(chance.choice(VALUES))
                case 1 if isinstance(holder, dict):
                    del holder[key]
                case _ if isinstance(holder, dict):
                    holder[chance.choice(["name", "unknown", key])] = clone(chance.choice(VALUES))
        _is_walked_alike(kind, obj)


def test_what_a_kubelet_reports_is_plain() -> None:
    pods = KINDS.by_gvk("", "v1", "Pod")
    assert pods is not None
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": TIME}
    status = {"phase": "Running", "podIP": "10.0.0.1", "conditions": [condition]}
    pod: JsonObject = {"metadata": {}, "status": status}
    for _ in range(20):
        complete_plain(SCHEMA, pods.gvk, clone(pod))
    assert complete_plain(SCHEMA, pods.gvk, pod)
    assert pod["status"]["conditions"] == [{**condition, "lastProbeTime": None}]


def test_lists_hold_structs_themselves() -> None:
    """What is always written is looked for in lists and maps, but in no lists of lists."""
    for name in SCHEMA.definitions:
        for field, shape in SCHEMA.compiled(name).properties.items():
            inner = shape.item.item if shape.item is not None else None
            assert inner is None or (inner.definition is None and inner.item is None), (name, field)
