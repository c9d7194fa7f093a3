"""All rules as one Markdown page, in one language."""

from collections.abc import Iterable, Iterator
from typing import Final

from winkube.rules.explain import EFFECTS, to_holds
from winkube.rules.model import Rule

AREAS: Final = {
    "POD": ("Pods", "Pod"),
    "SEC": ("Security", "安全"),
    "VOL": ("Volumes", "卷"),
    "NET": ("Networks", "网络"),
    "DNS": ("Names", "DNS"),
    "SVC": ("Services", "服务"),
    "NODE": ("Nodes", "节点"),
    "IMG": ("Images", "镜像"),
    "SCHED": ("Scheduling", "调度"),
    "RES": ("Resources", "资源"),
    "VER": ("Versions", "版本"),
    "API": ("The API", "API"),
}
_OPENING: Final = (
    "# Rules\n\nWhat Windows nodes can and cannot do. Generated from `src/winkube/rules/data` by "
    "`tools/generate-rules-docs`; do not edit.\n`winkube explain RULE` prints one rule; "
    "[`winkube lint`](commands/lint.md) checks manifests against all.",
    "# 规则\n\nWindows 节点能做什么、不能做什么。由 `tools/generate-rules-docs` 从 "
    "`src/winkube/rules/data` 生成，请勿手工修改。\n"
    "`winkube explain 规则 --language zh` 显示单条规则；"
    "[`winkube lint`](commands/lint.md) 按全部规则检查清单。",
)
_WORDS: Final = {
    False: ("Holds", "Effect", "Enforced by", "Do", "Fix", "Source"),
    True: ("适用", "结果", "执行者", "办法", "自动修复", "来源"),
}


def to_markdown(rules: Iterable[Rule], *, chinese: bool = False) -> str:
    by_area: dict[str, list[Rule]] = {}
    for rule in rules:
        by_area.setdefault(rule.area, []).append(rule)
    parts = [_OPENING[chinese]]
    for area, names in AREAS.items():
        if area in by_area:
            parts.append(f"## {names[chinese]}")
            parts += ["\n".join(_rule(rule, chinese=chinese)) for rule in by_area[area]]
    return "\n\n".join(parts) + "\n"


def _rule(rule: Rule, *, chinese: bool) -> Iterator[str]:
    text = rule.chinese if chinese else rule.english
    holds, effect, enforced, do, fix, source = _WORDS[chinese]
    yield f"### {rule.id}: {text.title}\n"
    yield f"{text.message}\n"
    yield f"- {do}: {text.remedy}"
    yield f"- {effect}: {EFFECTS[rule.effect][chinese]} ({rule.severity.value})"
    yield f"- {holds}: {to_holds(rule.holds, chinese=chinese)}"
    yield f"- {enforced}: {rule.enforced.value}"
    if rule.fix is not None:
        yield f"- {fix}: `winkube lint --fix`"
    yield f"- {source}: {', '.join(f'`{each}`' for each in rule.source)}"
