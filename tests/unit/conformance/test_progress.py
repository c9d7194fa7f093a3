"""Ginkgo's words while tests run."""

from tests.conformance.progress import Progress

ALONE = """\
Will run 2 of 7132 specs
------------------------------
SSSSSSS
------------------------------
[sig-x] Things [Serial] are named first [Conformance] [sig-x, Serial, Conformance]
k8s.io/kubernetes@v1.34.0/test/e2e/x.go:1
  STEP: a test speaks
  • [9.000 seconds]
• [4.065 seconds]
------------------------------
[sig-x] Things [Serial] fail [Conformance] [sig-x, Serial, Conformance]
  [FAILED] in [It]
• [FAILED] [61.400 seconds]
[sig-x] Things [Serial] [It] fail [Conformance] [sig-x, Serial, Conformance]
------------------------------
"""
BESIDE = """\
Will run 2 of 7132 specs
Running in parallel across 5 processes
------------------------------
[SynchronizedBeforeSuite] PASSED [0.036 seconds]
------------------------------
• [0.482 seconds]
[sig-x] Things are named last [Conformance] [sig-x, Conformance]
  Timeline >>
------------------------------
S [SKIPPED] [0.100 seconds]
[sig-x] Things need a cloud [Conformance] [sig-x, Conformance]
------------------------------
"""


def said(text: str) -> list[str]:
    progress = Progress()
    return [words for line in text.splitlines(keepends=True) if (words := progress.read(line))]


def test_tests_that_run_alone_are_told_once_each() -> None:
    assert said(ALONE) == [
        "    1/2 passed       4 s  [sig-x] Things [Serial] are named first [Conformance]",
        "    2/2 failed      61 s  [sig-x] Things [Serial] fail [Conformance]",
    ]


def test_tests_that_run_beside_others_are_told_once_each() -> None:
    assert said(BESIDE) == [
        "    1/2 passed       0 s  [sig-x] Things are named last [Conformance]",
        "    2/2 skipped      0 s  [sig-x] Things need a cloud [Conformance]",
    ]
