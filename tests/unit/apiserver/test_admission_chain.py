"""The chain's order, rounds and what refused requests give back."""

from typing import Any, ClassVar

import pytest

from winkube.api.kinds import KINDS
from winkube.apiserver.admission.chain import Admission, Chain
from winkube.apiserver.admission.runtime_class import merge_tolerations
from winkube.apiserver.auth.user import SELF


class Served:
    kind = KINDS.by_resource("", "v1", "pods")


class Step:
    def __init__(self, name: str, heard: list[str], *, again: bool = False) -> None:
        self._name, self._heard, self._again = name, heard, again

    async def admit(self, request: Admission) -> None:
        self._heard.append(f"admit {self._name}")
        if self._again and not request.is_second_round:
            request.wants_second_round = True

    async def validate(self, request: Admission) -> None:
        self._heard.append(f"validate {self._name}")


class ForNodes(Step):
    about: ClassVar = frozenset({"nodes"})


def request(**fields: Any) -> Admission:
    return Admission("CREATE", Served(), "default", "", SELF, **fields)  # type: ignore[arg-type]


async def test_steps_run_in_order_for_the_resources_they_are_about() -> None:
    heard: list[str] = []
    one, two, other = Step("one", heard), Step("two", heard), ForNodes("other", heard)
    chain = Chain((one, other, two), (two, one))
    asked = request()
    await chain.admit(asked)
    await chain.validate(asked)
    assert heard == ["admit one", "admit two", "validate two", "validate one"]


async def test_a_second_round_comes_once() -> None:
    heard: list[str] = []
    chain = Chain((Step("one", heard), Step("two", heard, again=True)))
    await chain.admit(request())
    assert heard == ["admit one", "admit two"] * 2


async def test_what_was_taken_is_given_back_last_first() -> None:
    given: list[int] = []
    asked = request()

    def back(number: int) -> Any:
        async def undo() -> None:
            given.append(number)

        return undo

    asked.undo += [back(1), back(2)]
    await asked.give_back()
    await asked.give_back()
    assert given == [2, 1]


@pytest.mark.parametrize(
    ("metadata", "name"),
    [({"name": "a"}, "a"), ({"generateName": "a-"}, "a-"), ({}, "Unknown")],
)
def test_a_refusal_names_the_object_as_it_can(metadata: dict[str, str], name: str) -> None:
    error = request(obj={"metadata": metadata}).forbidden("no")
    assert error.message == f'pods "{name}" is forbidden: no'
    assert error.details == {"name": name, "kind": "pods"}


def test_a_toleration_that_another_includes_goes() -> None:
    wide = {"key": "a", "operator": "Exists"}
    narrow = {"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"}
    other = {"key": "c", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    longer = {**other, "tolerationSeconds": 9}
    assert merge_tolerations([narrow, wide, wide]) == [wide]
    assert merge_tolerations([other, longer]) == [longer]
    assert merge_tolerations([other, {"operator": "Exists"}]) == [{"operator": "Exists"}]
