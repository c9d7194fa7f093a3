"""A pod's spec is remembered by its text; remembering may never show."""

from typing import Any

import orjson
import pytest

from winkube.api.errors import BadRequestError
from winkube.api.kinds import Kind, served_kinds
from winkube.api.schema import Schema, load_schema
from winkube.apiserver.admission.service_account import mount_token
from winkube.apiserver.auth.user import SELF
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.accept import accept

SCHEMA: Schema = load_schema("1.34")


def _pods() -> Kind:
    kind = served_kinds(SCHEMA).by_resource("", "v1", "pods")
    assert kind is not None
    return kind


def _accept(spec: dict[str, Any], validation: str = "Strict", **rest: Any) -> tuple[Any, list[str]]:
    options = WriteOptions(SELF, field_validation=validation)
    raw = orjson.dumps({"metadata": {"name": "a"}, "spec": spec, **rest})
    return accept(SCHEMA, _pods(), orjson.loads(raw), options, raw=raw), options.warnings


def _spec(**extra: Any) -> dict[str, Any]:
    return {
        "containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "0.5"}}}]
    } | extra


def test_the_second_pod_of_a_template_is_completed_as_the_first_was() -> None:
    first, _ = _accept(_spec(hostname="twice"))
    second, _ = _accept(_spec(hostname="twice"))
    assert first == second
    assert second["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "500m"}
    assert second["status"] == {}
    assert list(second) == list(first)


def test_pods_of_a_template_share_nothing() -> None:
    first, _ = _accept(_spec(hostname="apart"))
    first["spec"]["containers"].clear()
    second, _ = _accept(_spec(hostname="apart"))
    assert len(second["spec"]["containers"]) == 1


def test_a_status_of_the_author_stays_beside_a_known_spec() -> None:
    _accept(_spec(hostname="status"))
    pod, _ = _accept(_spec(hostname="status"), status={"message": "m"})
    assert pod["status"] == {"message": "m"}


def test_what_is_wrong_with_a_spec_is_said_every_time() -> None:
    for _ in range(2):
        with pytest.raises(BadRequestError, match=r'unknown field "spec.nonsense"'):
            _accept(_spec(nonsense=1))
        pod, warnings = _accept(_spec(nonsense=1), "Warn")
        assert warnings == ['unknown field "spec.nonsense"']
        assert "nonsense" not in pod["spec"]


def test_what_is_wrong_beside_a_known_spec_is_said() -> None:
    _accept(_spec(hostname="beside"))
    with pytest.raises(BadRequestError, match=r'unknown field "nonsense"'):
        _accept(_spec(hostname="beside"), nonsense=1)


def test_a_key_written_twice_in_a_known_spec_is_found() -> None:
    _accept({"containers": [], "hostname": "b"})
    raw = b'{"metadata":{"name":"a"},"spec":{"containers":[],"hostname":"a","hostname":"b"}}'
    options = WriteOptions(SELF, field_validation="Strict")
    with pytest.raises(BadRequestError, match=r'duplicate field "spec.hostname"'):
        accept(SCHEMA, _pods(), orjson.loads(raw), options, raw=raw)


def test_the_token_volume_is_named_after_the_account_and_one_is_enough() -> None:
    def volume(account: str, *taken: str) -> str:
        spec: dict[str, Any] = {
            "containers": [{"name": "c"}],
            "volumes": [{"name": name} for name in taken],
        }
        mount_token(spec, account)
        name: str = spec["volumes"][-1]["name"]
        assert spec["containers"][0]["volumeMounts"][0]["name"] == name
        return name

    assert volume("uid-1") == volume("uid-1")
    assert volume("uid-1") != volume("uid-2")
    assert volume("uid-2", volume("uid-1")) == volume("uid-1")
