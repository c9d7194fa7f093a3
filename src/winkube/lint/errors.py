"""What can go wrong before anything is checked.

LintError
├── ConfigError       .winkube-lint.yaml cannot be used
├── BaselineError     the baseline cannot be used
└── ClusterError      a live cluster cannot be read
"""

from pathlib import Path

from winkube.base.errors import WinkubeError


class LintError(WinkubeError):
    pass


class ConfigError(LintError):
    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path


class BaselineError(LintError):
    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"baseline {path}: {problem}")
        self.path = path


class ClusterError(LintError):
    pass
