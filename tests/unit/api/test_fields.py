from typing import Any

import pytest

from winkube.api.decode import clone
from winkube.api.fields import check_fields
from winkube.api.go.written import read_written
from winkube.api.kinds import KINDS, Kind
from winkube.api.roundtrip import round_trip
from winkube.api.schema import load_schema

SCHEMA = load_schema()


def kind(group: str, name: str, version: str = "v1") -> Kind:
    found = KINDS.by_gvk(group, version, name)
    assert found is not None
    return found


POD = kind("", "Pod")


def pod(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {"containers": [{"name": "c", "image": "i"}], **spec},
    }


def test_a_sound_object_has_a_clean_report() -> None:
    assert check_fields(SCHEMA, POD, pod()).clean


def test_unknown_fields_are_named_with_their_index() -> None:
    obj = pod(foo=1)
    obj["spec"]["containers"][0]["bar"] = {}
    obj["metadata"]["labelz"] = {}
    report = check_fields(SCHEMA, POD, obj)
    assert len(report.remarks) == 3
    error = report.strict_error(POD)
    assert error is not None
    assert error.message == (
        'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field '
        '"metadata.labelz", unknown field "spec.containers[0].bar", unknown field "spec.foo"'
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"hostNetwork": "yes"},
            "json: cannot unmarshal string into Go struct field "
            "PodSpec.spec.hostNetwork of type bool",
        ),
        (
            {"nodeName": 1},
            "json: cannot unmarshal number into Go struct field "
            "PodSpec.spec.nodeName of type string",
        ),
        (
            {"containers": {}},
            "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type "
            "[]v1.Container",
        ),
        (
            {"containers": [{"ports": [{"containerPort": "80"}]}]},
            "json: cannot unmarshal string into Go struct field "
            "ContainerPort.spec.containers.ports.containerPort of type int32",
        ),
        (
            {"containers": [{"ports": [{"containerPort": 3_000_000_000}]}]},
            "json: cannot unmarshal number 3000000000 into Go struct field "
            "ContainerPort.spec.containers.ports.containerPort of type int32",
        ),
        (
            {"activeDeadlineSeconds": 1.5},
            "json: cannot unmarshal number 1.5 into Go struct field "
            "PodSpec.spec.activeDeadlineSeconds of type int64",
        ),
        (
            {"nodeSelector": {"a": True}},
            "json: cannot unmarshal bool into Go struct field "
            "PodSpec.spec.nodeSelector of type string",
        ),
        (
            {"containers": [{"resources": {"limits": {"cpu": "1 core"}}}]},
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    ],
    ids=["bool", "string", "list", "int32", "overflow", "fraction", "map", "quantity"],
)
def test_wrong_types_are_said_in_gos_words(spec: dict[str, Any], message: str) -> None:
    report = check_fields(SCHEMA, POD, pod(**spec))
    assert report.type_errors == [message]
    error = report.type_error(POD)
    assert error is not None
    assert error.message == f'Pod in version "v1" cannot be handled as a Pod: {message}'
    assert error.code == 400


@pytest.mark.parametrize("body", [[], "text", 1, True])
def test_what_is_no_object_has_a_type_error(body: Any) -> None:
    assert check_fields(SCHEMA, POD, body).type_errors


def test_nulls_are_fine_anywhere() -> None:
    obj = pod(hostNetwork=None, volumes=None, nodeSelector=None)
    obj["metadata"]["creationTimestamp"] = None
    assert check_fields(SCHEMA, POD, obj).clean


def test_duplicate_keys_are_found_in_the_text() -> None:
    raw = b'{"kind":"Pod","kind":"Pod","spec":{"containers":[{"name":"a","name":"b"}]}}'
    report = check_fields(SCHEMA, POD, read_written(raw))
    assert report.remarks == [
        'duplicate field "kind"',
        'duplicate field "spec.containers[0].name"',
    ]


def test_int_or_string_takes_both_and_nothing_else() -> None:
    for port, fine in ((80, True), ("http", True), (1.5, False), (True, False), ([], False)):
        obj = pod(containers=[{"livenessProbe": {"httpGet": {"port": port}}}])
        assert check_fields(SCHEMA, POD, obj).clean is fine


def test_secret_data_has_to_be_base64() -> None:
    secret = kind("", "Secret")
    assert check_fields(SCHEMA, secret, {"data": {"a": "aGk="}}).clean
    assert check_fields(SCHEMA, secret, {"data": {"a": "not base64!"}}).type_errors


def test_base64_may_be_folded_to_lines_and_is_unfolded() -> None:
    obj = {"data": {"a": "aGVs\nbG8=\r\n"}}
    assert check_fields(SCHEMA, kind("", "Secret"), obj).clean
    round_trip(SCHEMA, kind("", "Secret"), obj)
    assert obj["data"] == {"a": "aGVsbG8="}


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ("2024-02-03T04:05:06Z", True), ("2024-02-03T04:05:06.123456Z", True),
        ("2024-02-03T04:05:06+02:00", True), ("yesterday", False), ("2024-13-03T04:05:06Z", False),
        ("2024-02-03 04:05:06Z", False), ("2024-02-03T04:05:06", False), ("", False),
        ("2024-02-03T04:05:06Z\n", False), ("２024-02-03T04:05:06Z", False),
    ],
)  # fmt: skip
def test_times_are_rfc_3339(text: str, fine: bool) -> None:
    obj = pod()
    obj["metadata"]["creationTimestamp"] = text
    assert check_fields(SCHEMA, POD, obj).clean is fine


def test_custom_resource_schemas_nest_and_stay_free() -> None:
    definition = kind("apiextensions.k8s.io", "CustomResourceDefinition")
    deep: dict[str, Any] = {"type": "object", "default": {"any": ["thing"]}}
    for _ in range(60):
        deep = {"type": "object", "properties": {"x": deep}}
    versions = [{"name": "v1", "schema": {"openAPIV3Schema": deep}}]
    obj = {"spec": {"versions": versions}}
    assert check_fields(SCHEMA, definition, obj).clean
    before = clone(versions)
    round_trip(SCHEMA, definition, obj)
    assert obj["spec"]["versions"][0]["schema"] == before[0]["schema"]


def test_a_round_trip_drops_what_go_does_not_write() -> None:
    obj = pod(foo=1, nodeSelector={}, hostNetwork=None, volumes=[{"name": "v", "emptyDir": {}}])
    obj["metadata"]["creationTimestamp"] = None
    obj["spec"]["containers"] = [
        {
            "name": "c",
            "args": [],
            "env": [{"name": "A", "value": None}],
            "resources": {"limits": {"cpu": 0.5, "memory": "1024Mi"}},
        },
        None,
    ]
    round_trip(SCHEMA, POD, obj)
    assert obj["metadata"] == {"name": "a"}
    assert obj["spec"] == {
        "containers": [
            {
                "name": "c",
                "env": [{"name": "A"}],
                "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}},
            },
            {"name": "", "resources": {}},
        ],
        "volumes": [{"name": "v", "emptyDir": {}}],
    }


def test_a_round_trip_keeps_free_objects_whole() -> None:
    revision = kind("apps", "ControllerRevision")
    obj = {"data": {"spec": {"a": None, "b": []}}, "revision": 1}
    before = clone(obj)
    round_trip(SCHEMA, revision, obj)
    assert obj == {**before, "metadata": {}}


def test_every_kind_of_the_table_has_a_schema() -> None:
    missing = [entry.gvk for entry in KINDS.all() if SCHEMA.for_kind(entry.gvk) is None]
    assert missing == []
