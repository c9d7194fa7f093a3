"""What a namespace wants of the rules: one label, five words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

LABEL: Final = "winkube.dev/windows-admission"
# Whoever breaks these breaks the cluster: no webhook of ours ever asks about them.
SPARED: Final = frozenset({"kube-system"})


@dataclass(frozen=True, slots=True)
class Mode:
    name: str
    warns: bool = True
    mutates: bool = False
    enforces: bool = False


OFF: Final = Mode("off", warns=False)
WARN: Final = Mode("warn")
MODES: Final[Mapping[str, Mode]] = {
    mode.name: mode
    for mode in (
        OFF,
        WARN,
        Mode("mutate", mutates=True),
        Mode("enforce", enforces=True),
        Mode("mutate-enforce", mutates=True, enforces=True),
    )
}


def mode_of(namespace: str, labels: Mapping[str, str]) -> Mode:
    """A namespace without the label, or with a word nobody knows, is warned."""
    if namespace in SPARED:
        return OFF
    word = labels.get(LABEL)
    return WARN if word is None else MODES.get(word, WARN)


def unknown_mode(labels: Mapping[str, str]) -> str:
    """What to say to who writes such a label; empty if it is well."""
    word = labels.get(LABEL)
    if word is None or word in MODES:
        return ""
    return f"label {LABEL}: {word!r} is none of {', '.join(MODES)}; the rules only warn"
