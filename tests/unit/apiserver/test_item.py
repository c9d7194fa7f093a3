import orjson

from winkube.apiserver.item import fields_of, made_of, read_field

POD = {"kind": "Pod", "spec": {"a": [1, {"b": 'ü"\\'}], "gone": None}, "status": {}}


def test_an_object_is_the_same_when_only_some_of_its_fields_were_read() -> None:
    fields = fields_of(orjson.dumps(POD))
    made = {**made_of(fields), "status": {"phase": "Running"}}
    assert orjson.loads(orjson.dumps(made)) == {**POD, "status": {"phase": "Running"}}


def test_a_field_that_is_not_there_reads_as_null() -> None:
    fields = fields_of(orjson.dumps(POD))
    assert read_field(fields, "spec") == POD["spec"]
    assert read_field(fields, "other") is None
