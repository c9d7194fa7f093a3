"""Upstream's recorded answers, one file per set of cases; tests.upstream.record makes them."""

import functools
import importlib
import json
import pkgutil
from pathlib import Path
from typing import Any

import tests.upstream.cases
from tests.upstream.exchange import Case

DATA = Path(__file__).parents[1] / "data" / "upstream" / "api"


def case_sets() -> dict[str, list[Case]]:
    """Every module of tests/upstream/cases by name, with its CASES."""
    names = sorted(entry.name for entry in pkgutil.iter_modules(tests.upstream.cases.__path__))
    return {
        name: list(importlib.import_module(f"tests.upstream.cases.{name}").CASES) for name in names
    }


def flags_of(name: str) -> tuple[str, ...]:
    """What an API server is told beyond the usual to be asked the cases of a set."""
    module = importlib.import_module(f"tests.upstream.cases.{name}")
    flags: tuple[str, ...] = getattr(module, "FLAGS", ())
    return flags


@functools.cache
def read_answers(name: str) -> dict[str, Any]:
    path = DATA / f"{name}.json"
    answers: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return answers


def write_answers(name: str, answers: dict[str, Any]) -> None:
    DATA.mkdir(parents=True, exist_ok=True)
    lines = (
        f"{json.dumps(case)}: {json.dumps(said, ensure_ascii=False, sort_keys=True)}"
        for case, said in sorted(answers.items())
    )
    (DATA / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
