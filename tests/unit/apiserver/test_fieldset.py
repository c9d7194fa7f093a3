from winkube.api.schema import load_schema
from winkube.apiserver.apply.fieldset import (
    from_fields_v1,
    lookup,
    owned_fields,
    to_fields_v1,
    to_text,
)
from winkube.apiserver.apply.merge import merge, remove

SHAPE = load_schema().compiled("io.k8s.api.core.v1.Pod").shape
POD = {
    "metadata": {"labels": {"a": "b"}, "finalizers": ["x.io/f"]},
    "spec": {
        "containers": [{"name": "c", "args": ["1", "2"], "ports": [{"containerPort": 80}]}],
        "nodeSelector": {"k": "v"},
    },
}


def test_fields_follow_the_schema_down_to_what_is_atomic() -> None:
    fields = {to_text(path) for path in owned_fields(SHAPE, POD)}
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


def test_fields_survive_their_json_form() -> None:
    fields = owned_fields(SHAPE, POD)
    assert from_fields_v1(to_fields_v1(fields)) == fields


def test_lookup_finds_what_a_path_names() -> None:
    paths = {to_text(path): path for path in owned_fields(SHAPE, POD)}
    assert lookup(SHAPE, POD, paths['.spec.containers[name="c"].args']) == ["1", "2"]
    assert lookup(SHAPE, {"spec": {}}, paths['.spec.containers[name="c"].args']) is ...


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
