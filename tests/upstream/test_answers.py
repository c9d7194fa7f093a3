"""Our API server answers as upstream's: as recorded, and where it is built as it says now."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.upstream.exchange import Case, Conversation, answers_to, conversation, differences
from tests.upstream.recorded import case_sets, read_answers

from winkube.testing.planes import api_server, upstream_folder

SETS = case_sets()
ALL = [
    pytest.param(name, number, case, id=f"{name}: {case.name}")
    for name, cases in SETS.items()
    for number, case in enumerate(cases)
]


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Conversation]:
    folder = tmp_path_factory.mktemp("winkube")
    with api_server("winkube", folder) as plane, conversation(plane.client) as talk:
        yield talk


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Conversation]:
    if upstream_folder() is None:
        pytest.skip("not built (`make upstream`): only the recorded answers are compared")
    folder = tmp_path_factory.mktemp("upstream")
    with api_server("upstream", folder) as plane, conversation(plane.client) as talk:
        yield talk


def check(expected: list[Any], found: list[Any], case: Case) -> None:
    different = [
        f"{_step(case, number)}: {line}"
        for number, (left, right) in enumerate(zip(expected, found, strict=True))
        for line in differences(left, right)
    ]
    if different:
        pytest.fail("\n".join(different), pytrace=False)


def _step(case: Case, number: int) -> str:
    if number < len(case.steps):
        return f"step {number} {case.steps[number].verb}"
    return f"watch {case.watch[number - len(case.steps)]}"


@pytest.mark.parametrize(("name", "number", "case"), ALL)
def test_an_answer_is_the_recorded_one(
    ours: Conversation, name: str, number: int, case: Case
) -> None:
    expected = read_answers(name).get(case.name)
    assert expected is not None, f"not recorded: run `python -m tests.upstream.record {name}`"
    found = answers_to(ours, case, f"{name.replace('_', '-')}-{number}", expected)
    check(expected, found, case)


@pytest.mark.parametrize(("name", "number", "case"), ALL)
def test_the_record_is_what_upstream_says(
    upstream: Conversation, name: str, number: int, case: Case
) -> None:
    expected = read_answers(name)[case.name]
    found = answers_to(upstream, case, f"{name.replace('_', '-')}-{number}", expected)
    check(found, expected, case)
