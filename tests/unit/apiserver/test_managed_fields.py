from collections.abc import Callable

from winkube.api.schema import load_schema
from winkube.apiserver.apply.compare import Found, compare, stated
from winkube.apiserver.apply.element import to_text
from winkube.apiserver.apply.managers import changes, track_creation, track_update
from winkube.apiserver.apply.merge import merge, remove
from winkube.apiserver.apply.owner import author, read_managers
from winkube.apiserver.apply.tree import Tree, difference, intersection, paths, union
from winkube.base.types import JsonObject

SHAPE = load_schema().compiled("io.k8s.api.core.v1.Pod").shape
POD = {
    "metadata": {"labels": {"a": "b"}, "finalizers": ["x.io/f"]},
    "spec": {
        "containers": [{"name": "c", "args": ["1", "2"], "ports": [{"containerPort": 80}]}],
        "nodeSelector": {"k": "v"},
    },
}


def test_fields_follow_the_schema_down_to_what_is_atomic() -> None:
    fields = {to_text(path) for path in paths(stated(SHAPE, POD))}
    assert fields == {
        ".metadata.labels.a",
        '.metadata.finalizers[="x.io/f"]',
        '.spec.containers[name="c"]',
        '.spec.containers[name="c"].name',
        '.spec.containers[name="c"].args',
        '.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"]',
        '.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"].containerPort',
        ".spec.nodeSelector",
    }


def test_sets_of_fields_obey_the_laws_of_sets() -> None:
    one: Tree = {"f:a": {}, "f:b": {".": {}, "f:c": {}, "f:d": {}}}
    other: Tree = {"f:b": {"f:c": {}}, "f:e": {}}
    assert union(one, other) == {"f:a": {}, "f:b": {".": {}, "f:c": {}, "f:d": {}}, "f:e": {}}
    assert difference(one, other) == {"f:a": {}, "f:b": {".": {}, "f:d": {}}}
    assert intersection(one, other) == {"f:b": {"f:c": {}}}
    assert difference(one, one) is None
    assert intersection(one, {"f:e": {}}) is None


def test_a_comparison_tells_changes_from_removals() -> None:
    old = {"metadata": {"labels": {"a": "1", "b": "1"}}, "spec": {"containers": [{"name": "c"}]}}
    new = {"metadata": {"labels": {"a": "2"}}, "spec": {"containers": [{"name": "d"}]}}
    changed, removed = compare(SHAPE, old, new)
    assert changed == {
        "f:metadata": {"f:labels": {"f:a": {}}},
        "f:spec": {"f:containers": {'k:{"name":"d"}': {".": {}, "f:name": {}}}},
    }
    assert removed == {
        "f:metadata": {"f:labels": {"f:b": {}}},
        "f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:name": {}}}},
    }


def _changes(old: JsonObject, new: JsonObject) -> Callable[[str], Found]:
    return lambda _: changes(SHAPE, old, new)


def test_a_write_takes_what_it_changes_from_its_owner() -> None:
    old = {"metadata": {"name": "p", "labels": {"a": "1"}}}
    first, second = author("first", "v1"), author("second", "v1")
    track_creation(SHAPE, old, first, "t1")
    assert read_managers(old["metadata"]) == {
        first: ({"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}, "t1", "v1")
    }
    new = {**old, "metadata": {**old["metadata"], "labels": {"a": "2", "b": "1"}}}
    track_update(_changes(old, new), old, new, second, "t2")
    assert read_managers(new["metadata"]) == {
        first: ({"f:metadata": {"f:labels": {}}}, "t1", "v1"),
        second: ({"f:metadata": {"f:labels": {"f:a": {}, "f:b": {}}}}, "t2", "v1"),
    }


def test_a_write_that_changes_nothing_leaves_the_owners_alone() -> None:
    obj = {"metadata": {"labels": {"a": "1"}}}
    track_creation(SHAPE, obj, author("first", "v1"), "t1")
    same = {**obj, "metadata": dict(obj["metadata"])}
    track_update(_changes(obj, same), obj, same, author("second", "v1"), "t2")
    assert same == obj


def test_the_oldest_of_many_authors_become_one() -> None:
    obj = {"metadata": {"labels": {"n0": "x"}}}
    track_creation(SHAPE, obj, author("m00", "v1"), "t00")
    for number in range(1, 13):
        labels = {**obj["metadata"]["labels"], f"n{number}": "x"}
        new = {**obj, "metadata": {**obj["metadata"], "labels": labels}}
        track_update(_changes(obj, new), obj, new, author(f"m{number:02}", "v1"), f"t{number:02}")
        obj = new
    managers = [owner.manager for owner in read_managers(obj["metadata"])]
    assert managers == ["ancient-changes", *(f"m{number:02}" for number in range(4, 13))]


def test_merge_keeps_what_the_configuration_does_not_mention() -> None:
    live = {"spec": {"containers": [{"name": "x", "image": "1"}, {"name": "c", "image": "1"}]}}
    wanted = {"spec": {"containers": [{"name": "c", "image": "2"}, {"name": "n"}]}}
    merged = merge(SHAPE, live, wanted)
    assert merged["spec"]["containers"] == [
        {"name": "x", "image": "1"},
        {"name": "c", "image": "2"},
        {"name": "n"},
    ]


def test_remove_takes_elements_and_fields_out() -> None:
    value = {"metadata": {"finalizers": ["a", "b"]}, "spec": {"containers": [{"name": "c"}]}}
    remove(
        SHAPE,
        value,
        [("f:metadata", "f:finalizers", 'v:"a"'), ("f:spec", "f:containers", 'k:{"name":"c"}')],
    )
    assert value == {"metadata": {"finalizers": ["b"]}, "spec": {"containers": []}}
