"""Our API server answers as upstream's: as recorded, and where it is built as it says now."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.upstream.exchange import Case, Conversation, answers_to, conversation, differences
from tests.upstream.recorded import case_sets, flags_of, read_answers

from winkube.testing.planes import Make, api_server, upstream_folder

SETS = case_sets()
ALL = [
    pytest.param(name, number, case, id=f"{name}: {case.name}")
    for name, cases in SETS.items()
    for number, case in enumerate(cases)
]


class Servers:
    """API servers of one make, by the flags they were told: each begins when it is first asked."""

    def __init__(self, make: Make, folder: Path, stack: ExitStack) -> None:
        self._make, self._folder, self._stack = make, folder, stack
        self._talks: dict[tuple[str, ...], Conversation] = {}

    def for_set(self, name: str) -> Conversation:
        flags = flags_of(name)
        if flags not in self._talks:
            folder = self._folder / str(len(self._talks))
            plane = self._stack.enter_context(api_server(self._make, folder, flags))
            self._talks[flags] = self._stack.enter_context(conversation(plane.client))
        return self._talks[flags]


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with ExitStack() as stack:
        yield Servers("winkube", tmp_path_factory.mktemp("winkube"), stack)


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    if upstream_folder() is None:
        pytest.skip("not built (`make upstream`): only the recorded answers are compared")
    with ExitStack() as stack:
        yield Servers("upstream", tmp_path_factory.mktemp("upstream"), stack)


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
def test_an_answer_is_the_recorded_one(ours: Servers, name: str, number: int, case: Case) -> None:
    expected = read_answers(name).get(case.name)
    assert expected is not None, f"not recorded: run `python -m tests.upstream.record {name}`"
    talk = ours.for_set(name)
    found = answers_to(talk, case, f"{name.replace('_', '-')}-{number}", expected)
    check(expected, found, case)


@pytest.mark.parametrize(("name", "number", "case"), ALL)
def test_the_record_is_what_upstream_says(
    upstream: Servers, name: str, number: int, case: Case
) -> None:
    expected = read_answers(name)[case.name]
    talk = upstream.for_set(name)
    found = answers_to(talk, case, f"{name.replace('_', '-')}-{number}", expected)
    check(found, expected, case)
