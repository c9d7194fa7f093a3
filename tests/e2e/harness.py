"""A running cluster as a user sees it, and patience."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"


def find_kubectls() -> list[Path]:
    """Every kubectl beside the one on the PATH, oldest first."""
    found = shutil.which("kubectl")
    if found is None:
        return []
    program = Path(found).resolve()
    versioned = [p for p in program.parent.glob("kubectl.1.*") if p.is_file()]
    return sorted(versioned, key=lambda p: int(re.sub(r"\D", "", p.suffix))) or [program]


@dataclass(frozen=True)
class Cluster:
    """A running cluster as a user sees it: the two programs and a kubeconfig."""

    name: str
    kubeconfig: Path
    program: Path

    def environment(self) -> dict[str, str]:
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig)}

    def winkube(self, *args: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "winkube", *args]
        return run(argv, self.environment(), check=check, timeout=300)

    def kubectl(
        self, *args: str, check: bool = True, stdin: str | None = None, timeout: float = 120
    ) -> subprocess.CompletedProcess[str]:
        argv = [str(self.program), *args]
        return run(argv, self.environment(), check=check, stdin=stdin, timeout=timeout)

    def apply(self, *documents: dict[str, Any]) -> None:
        items = {"apiVersion": "v1", "kind": "List", "items": list(documents)}
        self.kubectl("apply", "-f", "-", stdin=json.dumps(items))

    def get(self, *args: str) -> Any:
        return json.loads(self.kubectl("get", *args, "-o", "json").stdout)

    @contextmanager
    def namespace(self, name: str, *labels: str) -> Iterator[str]:
        """A namespace that goes away with everything in it."""
        self.kubectl("create", "namespace", name)
        try:
            for label in labels:
                self.kubectl("label", "namespace", name, label)
            eventually(lambda: self.get("serviceaccount", "default", "-n", name))
            yield name
        finally:
            self.kubectl("delete", "namespace", name, "--timeout=120s", timeout=130)

    def popen(self, *args: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.program, *args],
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def run(
    argv: list[str],
    env: dict[str, str],
    *,
    check: bool = True,
    stdin: str | None = None,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        argv,
        env=env,
        input=stdin or "",
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if check and done.returncode:
        words = " ".join(argv[1:])
        raise AssertionError(f"{words}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


def eventually(check: Callable[[], Any], *, seconds: float = 60, every: float = 0.2) -> Any:
    """The first true value of ``check``; its last failure explains a time-out."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            value = check()
        except (AssertionError, OSError, KeyError, IndexError) as error:
            value, last = None, error
        else:
            last = AssertionError(f"still {value!r} after {seconds} s")
        if value:
            return value
        if time.monotonic() > deadline:
            raise last
        time.sleep(every)
