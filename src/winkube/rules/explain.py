"""A rule in words."""

from collections.abc import Iterator
from typing import Final

from winkube.facts.windows import name_of_build, windows_versions
from winkube.rules.emulation import emulation_of
from winkube.rules.model import Effect, Holds, Rule

EFFECTS: Final = {
    Effect.IGNORED: ("accepted, and ignored on Windows", "会被接受，但在 Windows 上被忽略"),
    Effect.REFUSED: ("refused by the API server", "被 API 服务器拒绝"),
    Effect.FAILS: ("accepted, and fails on Windows", "会被接受，但在 Windows 上失败"),
    Effect.DIFFERS: ("works otherwise than on Linux", "与 Linux 上的行为不同"),
}


def to_lines(rule: Rule, *, chinese: bool = False) -> Iterator[str]:
    text = rule.chinese if chinese else rule.english
    names = _CHINESE if chinese else _ENGLISH
    rows = (
        ("severity", rule.severity.value),
        ("effect", EFFECTS[rule.effect][chinese]),
        ("kinds", ", ".join(sorted(rule.kinds))),
        ("holds", to_holds(rule.holds, chinese=chinese)),
        ("enforced", rule.enforced.value),
        ("emulated", _emulated(rule, chinese=chinese)),
        ("why", text.message),
        ("do", text.remedy),
        ("fix", f"winkube lint --fix ({rule.fix.do})" if rule.fix else "-"),
        ("source", ", ".join(rule.source)),
    )
    yield f"{rule.id}: {text.title}"
    for key, value in rows:
        yield f"  {names[key]}: {value}"


def _emulated(rule: Rule, *, chinese: bool) -> str:
    how = emulation_of(rule)
    said = _EMULATED[how.word][chinese]
    reason = how.reason(chinese=chinese)
    return f"{said}: {reason}" if reason else said


def to_holds(holds: Holds, *, chinese: bool = False) -> str:
    parts = []
    if holds.kubernetes.text:
        parts.append(f"Kubernetes {holds.kubernetes}")
    builds = [v.build for v in windows_versions() if v.build in holds.windows]
    if len(builds) < len(windows_versions()):
        parts.append("Windows " + ", ".join(name_of_build(build) for build in builds))
    parts += [", ".join(sorted(each)) for each in (holds.runtimes, holds.networks) if each]
    return "; ".join(parts) or ("所有版本" if chinese else "everywhere")


_EMULATED: Final = {
    "yes": ("the same", "行为相同"), "no": ("not the same", "行为不同"),
    "apart": ("does not arise", "不会出现"), "": ("-", "-"),
}  # fmt: skip
_ENGLISH: Final = {
    "severity": "severity", "effect": "effect", "kinds": "kinds", "holds": "holds for",
    "enforced": "enforced by", "emulated": "in winkube's clusters", "why": "why", "do": "do",
    "fix": "fix", "source": "source",
}  # fmt: skip
_CHINESE: Final = {
    "severity": "级别", "effect": "结果", "kinds": "类型", "holds": "适用于",
    "enforced": "执行者", "emulated": "winkube 集群", "why": "原因", "do": "办法",
    "fix": "自动修复", "source": "来源",
}  # fmt: skip
