"""The condition of a flow schema says whether its priority level is missing."""

from typing import Any

from winkube.api.flow_objects import FLOW_SCHEMAS, MANDATORY, PRIORITY_LEVELS
from winkube.apiserver.upkeep.flow_control import plan_condition


def _schema(*conditions: dict[str, Any]) -> dict[str, Any]:
    spec = {"priorityLevelConfiguration": {"name": "a"}}
    return {"spec": spec, "status": {"conditions": list(conditions)}}


def test_a_level_that_is_missing_is_said_once() -> None:
    condition = plan_condition(_schema(), set(), "now")
    assert condition is not None
    assert (condition["status"], condition["reason"]) == ("True", "NotFound")
    assert plan_condition(_schema(condition), set(), "later") is None


def test_a_level_that_appears_changes_the_condition_and_its_time() -> None:
    missing = plan_condition(_schema(), set(), "now")
    assert missing is not None
    found = plan_condition(_schema(missing), {"a"}, "later")
    assert found is not None
    assert (found["status"], found["lastTransitionTime"]) == ("False", "later")


def test_every_built_in_schema_has_its_level() -> None:
    levels = {spec["priorityLevelConfiguration"]["name"] for spec in FLOW_SCHEMAS.values()}
    assert levels <= set(PRIORITY_LEVELS)
    assert set(PRIORITY_LEVELS) >= MANDATORY
    assert set(FLOW_SCHEMAS) >= MANDATORY
