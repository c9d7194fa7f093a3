"""Run upstream's ``e2e.test`` for a group: first side by side, then those that must be alone."""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from tests.conformance.progress import Progress

GROUPS: Final = ("sig-apps", "sig-scheduling", "sig-autoscaling", "sig-cli")
# Groups that have no conformance test, and what stands in for them.
FOCUS: Final = {
    "sig-autoscaling": r"\(scale resource: CPU\) ReplicationController light",
}
# The tests that are run with Windows pods are of many groups.
WINDOWS: Final = "windows"
_DISRUPTIVE, _SERIAL = r"\[Disruptive\]", r"\[Serial\]"


@dataclass(frozen=True, slots=True)
class Suite:
    programs: Path
    out: Path
    kubectl: str
    procs: int
    options: tuple[str, ...] = ()

    def run(self, group: str, skip: str = "") -> Iterator[Path]:
        """Each report as it is done."""
        skips = [_DISRUPTIVE, *([skip] if skip else [])]
        focus = _focus_of(group, has_shell=(self.programs / "busybox.exe").exists())
        yield self._run(f"{group}-parallel", self.procs, focus, [*skips, _SERIAL])
        if group != WINDOWS:
            serial = rf"\[{group}\].*{_SERIAL}.*\[Conformance\]"
            yield self._run(f"{group}-serial", 1, serial, skips)

    def _run(self, title: str, procs: int, focus: str, skips: list[str]) -> Path:
        report = self.out / f"{title}.json"
        report.unlink(missing_ok=True)
        print(f"{title} ...", flush=True)
        argv = [
            str(self.programs / "ginkgo"),
            f"--procs={procs}",
            f"--focus={focus}",
            *(f"--skip={skip}" for skip in skips),
            "--timeout=4h",
            "--no-color",
            "-v",
            f"--output-dir={self.out}",
            f"--json-report={report.name}",
            str(self.programs / "e2e.test"),
            "--",
            "--provider=skeleton",
            f"--kubeconfig={os.environ['KUBECONFIG']}",
            f"--kubectl-path={self.kubectl}",
            "--disable-log-dump",
            *self.options,
        ]
        with (self.out / f"{title}.log").open("wb") as log:
            _run_aloud(argv, self.out, log)
        return report


def _run_aloud(argv: list[str], folder: Path, log: BinaryIO) -> None:
    """Keep everything, and say of each test what became of it: a group may take half an hour."""
    progress = Progress()
    pipe, joined = subprocess.PIPE, subprocess.STDOUT
    with subprocess.Popen(argv, stdout=pipe, stderr=joined, cwd=folder) as process:
        assert process.stdout is not None
        for line in process.stdout:
            log.write(line)
            if said := progress.read(line.decode(errors="replace")):
                log.flush()
                print(said, flush=True)


def _focus_of(group: str, *, has_shell: bool) -> str:
    if group != WINDOWS:
        return FOCUS.get(group, rf"\[{group}\].*\[Conformance\]")
    lines = Path(__file__).with_name("windows_tests.txt").read_text().splitlines()
    names = [line for line in lines if line.startswith("[")]
    in_shell = [line.removeprefix("sh ") for line in lines if line.startswith("sh ")]
    if not has_shell:
        print(f"left out: {len(in_shell)} tests need a shell, and there is no busybox.exe")
    return "|".join(map(re.escape, [*names, *in_shell] if has_shell else names))
