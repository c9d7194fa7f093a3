"""What runs say: passed, failed and skipped, and the first words of each failure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Result:
    """What became of some tests; ``failed`` are names with first words."""

    title: str
    passed: int = 0
    skipped: int = 0
    failed: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0


def read_report(path: Path) -> Result:
    """Read ginkgo's JSON; a run that wrote none failed as a whole."""
    if not path.exists():
        return Result(path.stem, failed=((path.stem, "wrote no report; see its log"),))
    suites = json.loads(path.read_text())
    specs = [spec for suite in suites for spec in suite["SpecReports"] or ()]
    tests = [spec for spec in specs if spec["LeafNodeType"] == "It"]
    failed = [spec for spec in specs if spec["State"] not in ("passed", "skipped", "pending")]
    return Result(
        path.stem,
        sum(spec["State"] == "passed" for spec in tests),
        sum(_was_left_out(spec) for spec in tests),
        tuple((_full_name(spec), _first_words(spec)) for spec in failed),
        sum(suite["RunTime"] for suite in suites) / 1e9,
    )


def merge(title: str, results: Sequence[Result]) -> Result:
    return Result(
        title,
        sum(result.passed for result in results),
        sum(result.skipped for result in results),
        tuple(failure for result in results for failure in result.failed),
        sum(result.seconds for result in results),
    )


def to_table(results: Sequence[Result]) -> str:
    lines = [f"{'group':20} {'passed':>7} {'failed':>7} {'skipped':>8} {'seconds':>8}"]
    lines += [
        f"{each.title:20} {each.passed:7} {len(each.failed):7} {each.skipped:8} {each.seconds:8.0f}"
        for each in results
    ]
    for result in results:
        lines += [f"FAILED {name}\n       {words}" for name, words in result.failed]
    return "\n".join(lines)


def _was_left_out(spec: dict[str, Any]) -> bool:
    """By its own decision: tests out of focus are skipped too, without a word."""
    return bool(spec["State"] == "skipped" and (spec.get("Failure") or {}).get("Message"))


def _full_name(spec: dict[str, Any]) -> str:
    texts = [*(spec["ContainerHierarchyTexts"] or ()), spec["LeafNodeText"]]
    return " ".join(text for text in texts if text) or str(spec["LeafNodeType"])


def _first_words(spec: dict[str, Any]) -> str:
    failure = spec.get("Failure") or {}
    message = " ".join(str(failure.get("Message", spec["State"])).split())
    place = failure.get("Location") or {}
    return f"{message[:400]} ({Path(place.get('FileName', '')).name}:{place.get('LineNumber')})"
