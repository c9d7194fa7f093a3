from typing import Any

from winkube.api.errors import BadRequestError, Cause
from winkube.api.roundtrip import Emptied
from winkube.apiserver.registry.empties import with_empties

FIRST = [Cause("FieldValueInvalid", "shown without", "spec")]


def test_problems_are_shown_with_what_was_given_empty_and_nothing_stays() -> None:
    spec: dict[str, Any] = {"rules": None}
    emptied = [Emptied(spec, "rules", [], False), Emptied(spec, "modes", {}, False)]

    def validate() -> list[Cause]:
        return [Cause("FieldValueInvalid", f"shown {spec}", "spec")]

    shown = with_empties(FIRST, emptied, validate)
    assert shown[0].message == "shown {'rules': [], 'modes': {}}"
    assert spec == {"rules": None}


def test_other_problems_than_before_are_not_told() -> None:
    spec: dict[str, Any] = {}
    emptied = [Emptied(spec, "rules", [], False)]
    assert with_empties(FIRST, emptied, list) is FIRST

    def refuse() -> list[Cause]:
        raise BadRequestError("no")

    assert with_empties(FIRST, emptied, refuse) is FIRST
    assert spec == {}
