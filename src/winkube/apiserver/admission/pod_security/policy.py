"""What a namespace's labels ask for: a level and a version to enforce, to audit and to warn of."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from winkube.api.validation.problems import Problems

PRIVILEGED: Final = "privileged"
BASELINE: Final = "baseline"
RESTRICTED: Final = "restricted"
LEVELS: Final = (PRIVILEGED, BASELINE, RESTRICTED)  # from lax to strict
LABEL: Final = "pod-security.kubernetes.io/"
_VERSION: Final = re.compile(r"v1\.([0-9]|[1-9][0-9]*)", re.ASCII)
_MODES: Final = ("enforce", "audit", "warn")
_NEWEST: Final = 2**31


class Standard(NamedTuple):
    level: str = PRIVILEGED
    minor: int | None = None  # None is the latest

    def __str__(self) -> str:
        return f"{self.level}:{'latest' if self.minor is None else f'v1.{self.minor}'}"

    @property
    def order(self) -> int:
        return _NEWEST if self.minor is None else self.minor


class Policy(NamedTuple):
    enforce: Standard = Standard()
    audit: Standard = Standard()
    warn: Standard = Standard()

    @property
    def allows_all(self) -> bool:
        return all(standard.level == PRIVILEGED for standard in self)


ALLOWS_ALL: Final = Policy()


def parse_policy(labels: Mapping[str, str]) -> tuple[Policy, Problems]:
    """A level nobody knows is the strictest for enforcing, and none for the others."""
    problems = Problems()
    if not any(key.startswith(LABEL) for key in labels):
        return ALLOWS_ALL, problems
    found = {mode: _parse_standard(labels, mode, problems) for mode in _MODES}
    enforce, warn = found["enforce"], found["warn"]
    known = labels.get(f"{LABEL}enforce") in LEVELS
    if known and f"{LABEL}warn" not in labels and enforce.level != PRIVILEGED:
        minor = warn.minor if f"{LABEL}warn-version" in labels else enforce.minor
        found["warn"] = Standard(enforce.level, minor)
    return Policy(**found), problems


def _parse_standard(labels: Mapping[str, str], mode: str, problems: Problems) -> Standard:
    level, minor = PRIVILEGED, None
    label = f"{LABEL}{mode}"
    if label in labels:
        level = labels[label]
        if level not in LEVELS:
            problems.invalid(
                f"metadata.labels[{label}]", level, f"must be one of {', '.join(LEVELS)}"
            )
            level = RESTRICTED if mode == "enforce" else PRIVILEGED
    label = f"{LABEL}{mode}-version"
    if label in labels and labels[label] != "latest":
        match = _VERSION.fullmatch(labels[label])
        if match is None:
            text = 'must be "latest" or "v1.x"'
            problems.invalid(f"metadata.labels[{label}]", labels[label], text)
        else:
            minor = int(match[1])
    return Standard(level, minor)
