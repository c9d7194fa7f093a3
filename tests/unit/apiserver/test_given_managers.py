from typing import Any

import pytest

from winkube.apiserver.apply.given import given_managers, known_managers, said_managers
from winkube.apiserver.apply.owner import author


def entry(**fields: Any) -> dict[str, Any]:
    made = {
        "manager": "m",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {}},
    }
    return {**made, **fields}


OLD = {"managedFields": [entry(manager="o")]}


@pytest.mark.parametrize("fields", [1, "x", [], {"x": {}}, {"f:a": 1}, {"k:x": {}}, {"i:x": {}}])
def test_what_is_no_set_of_fields_is_not_read(fields: Any) -> None:
    assert given_managers({"managedFields": [entry(fieldsV1=fields)]}) == {}


def test_steps_of_a_form_nobody_knows_are_left_out() -> None:
    managers = given_managers({"managedFields": [entry(fieldsV1={"f:a": None, "z:b": {}})]})
    assert managers[author("m", "v1")].fields == {"f:a": {}}


@pytest.mark.parametrize("given", [[], [{}]])
def test_a_client_can_say_that_nobody_owns_anything(given: Any) -> None:
    assert said_managers({"managedFields": given}, OLD, whole=True) == {}
    assert list(said_managers({"managedFields": given}, OLD, whole=False)) == [author("o", "v1")]


def test_managers_that_cannot_be_read_leave_the_old_ones() -> None:
    new = {"managedFields": [entry(operation="Create")]}
    assert list(said_managers(new, OLD, whole=True)) == [author("o", "v1")]


def test_managers_of_another_kinds_version_are_dropped() -> None:
    managers = given_managers(
        {"managedFields": [entry(apiVersion="apps/v1beta2"), entry(apiVersion="no/v1")]}
    )
    known = known_managers(managers, "apps/v1")
    assert known is not None
    assert [owner.version for owner in known] == ["apps/v1beta2"]
    assert (
        known_managers(given_managers({"managedFields": [entry(apiVersion="a/b/c")]}), "v1") is None
    )
