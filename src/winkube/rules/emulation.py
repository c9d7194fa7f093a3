"""What winkube's own cluster does where a rule holds: as Windows, otherwise, or it cannot arise."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import yaml

from winkube.facts.errors import DataError
from winkube.facts.version import LATEST, Version
from winkube.facts.windows import windows_versions
from winkube.rules.load import DATA
from winkube.rules.model import Effect, Enforced, Rule, Target

_FILE: Final = DATA / "emulation" / "rules.yaml"
_WORDS: Final = ("test", "missing", "apart")
# Every such rule's manifest is sent to our API server and to upstream's.
_REFUSED: Final = "tests/upstream/cases/windows_rules.py::refused_rules"
# A cluster serves any of these; its programs have no patch.
_SERVED: Final = tuple(Version(1, minor, 0) for minor in range(25, LATEST.minor + 1))
# Our kubelet and kube-proxy take their settings from winkube, not from these files.
_UNREAD: Final = frozenset({"KubeletConfiguration", "KubeProxyConfiguration"})


@dataclass(frozen=True, slots=True)
class Emulation:
    """One of the three is said; none for a rule of the linter alone."""

    test: str = ""  # file::function, which shows that we do as Windows does
    missing: str = ""  # in which way we do not
    apart: str = ""  # why the case does not arise
    chinese: str = ""  # either of these two

    def reason(self, *, chinese: bool = False) -> str:
        return self.chinese if chinese else self.missing or self.apart

    @property
    def word(self) -> str:
        """yes, no, apart, or nothing."""
        return "yes" if self.test else "no" if self.missing else "apart" if self.apart else ""


_UNREAD_HERE: Final = Emulation(
    apart="winkube's kubelet and kube-proxy read no such file",
    chinese="winkube 的 kubelet 和 kube-proxy 不读取这样的文件",
)
_NO_SUCH_VERSION: Final = Emulation(
    apart="no cluster of winkube has these versions",
    chinese="没有 winkube 集群使用这些版本",
)


@cache
def load_emulation() -> dict[str, Emulation]:
    """By rule, what data/emulation says."""
    found: dict[str, Emulation] = {}
    for entry in yaml.load(_FILE.read_bytes(), Loader=yaml.CSafeLoader):
        how = _parse(entry)
        for rule in entry["rules"]:
            if rule in found:
                raise DataError(_FILE.name, rule, "is there twice")
            found[rule] = how
    return found


def emulation_of(rule: Rule) -> Emulation:
    found = load_emulation().get(rule.id)
    if found is not None:
        return found
    if rule.enforced is Enforced.LINT:
        return Emulation()
    if rule.kinds <= _UNREAD:
        return _UNREAD_HERE
    if not any(rule.holds.at(target) for target in emulated_targets()):
        return _NO_SUCH_VERSION
    refused = rule.enforced is Enforced.API and rule.effect is Effect.REFUSED
    return Emulation(test=_REFUSED) if refused else Emulation()


@cache
def emulated_targets() -> tuple[Target, ...]:
    """What the Windows nodes of a cluster of ours can be."""
    return tuple(
        Target(kubernetes, version.build, "l2bridge", "containerd", version.name)
        for kubernetes in _SERVED
        for version in windows_versions()
        if version.emulated is not None
    )


def _parse(entry: Mapping[str, Any]) -> Emulation:
    said = {word: str(entry[word]) for word in _WORDS if entry.get(word)}
    chinese = str(entry.get("zh") or "")
    if len(said) != 1 or set(entry) - {*_WORDS, "zh", "rules"}:
        raise DataError(_FILE.name, str(entry)[:60], f"needs rules, and one of {', '.join(_WORDS)}")
    if bool(chinese) == ("test" in said):
        raise DataError(_FILE.name, str(entry)[:60], "needs zh exactly where it gives a reason")
    return Emulation(**said, chinese=chinese)
