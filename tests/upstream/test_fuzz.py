"""Requests made wrong at random get the same answers from both servers.

``WINKUBE_SEED`` picks the requests, ``WINKUBE_FUZZ`` how many of each kind. The seed stands in
every failure: the same one makes the same requests again.
"""

import os
import random
from collections.abc import Iterator

import pytest
from tests.upstream.exchange import Case, Conversation, conversation, run_case
from tests.upstream.fuzz_more import MORE
from tests.upstream.fuzz_objects import FUZZED
from tests.upstream.fuzz_parts import part_steps
from tests.upstream.mutation import fuzz_steps, unlike
from tests.upstream.objects import Sample

from winkube.api.schema import load_schema
from winkube.testing.planes import api_server, upstream_folder

SEED = int(os.environ.get("WINKUBE_SEED", "1"))
COUNT = int(os.environ.get("WINKUBE_FUZZ", "6"))
SCHEMA = load_schema("1.34")


@pytest.fixture(scope="module")
def pair(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Conversation, Conversation]]:
    if upstream_folder() is None:
        pytest.skip("not built (`make upstream`): there is nobody to compare with")
    folder = tmp_path_factory.mktemp("fuzz")
    with (
        api_server("upstream", folder / "upstream") as theirs,
        api_server("winkube", folder / "winkube") as ours,
        conversation(theirs.client) as left,
        conversation(ours.client) as right,
    ):
        yield left, right


SAMPLED = pytest.mark.parametrize(
    ("number", "sample"),
    [pytest.param(n, sample, id=f"{sample.kind} {n}") for n, sample in enumerate((*FUZZED, *MORE))],
)


@SAMPLED
def test_a_body_made_wrong_is_answered_alike(
    pair: tuple[Conversation, Conversation], number: int, sample: Sample
) -> None:
    choose = random.Random(f"{SEED}/{number}")
    case = Case(sample.kind, fuzz_steps(choose, SCHEMA, sample, COUNT), managed=False)
    check(pair, case, f"fuzz-{SEED}-{number}")


@SAMPLED
def test_parts_and_owners_and_lists_are_answered_alike(
    pair: tuple[Conversation, Conversation], number: int, sample: Sample
) -> None:
    choose = random.Random(f"{SEED}/parts/{number}")
    steps = part_steps(choose, SCHEMA, sample, (COUNT + 2) // 3)
    check(pair, Case(sample.kind, steps), f"parts-{SEED}-{number}")


def check(pair: tuple[Conversation, Conversation], case: Case, namespace: str) -> None:
    theirs, ours = (run_case(talk, case, namespace) for talk in pair)
    different = [
        f"seed {SEED}, step {index} {step.verb} {step.type} {step.body!r}: {line}"
        for index, (step, left, right) in enumerate(zip(case.steps, theirs, ours, strict=True))
        for line in unlike(step.body, left, right)
    ]
    if different:
        pytest.fail("\n".join(different), pytrace=False)
