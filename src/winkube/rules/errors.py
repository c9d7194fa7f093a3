"""What can be wrong with a question to the knowledge base (wrong data: winkube.facts.errors).

RulesError
├── TargetError     a target names something that does not exist
└── UnknownRuleError
"""

from collections.abc import Iterable

from winkube.base.errors import WinkubeError


class RulesError(WinkubeError):
    pass


class TargetError(RulesError):
    def __init__(self, what: str, word: str, known: Iterable[str]) -> None:
        super().__init__(f"unknown {what} {word!r}: choose one of {', '.join(known)}")
        self.what, self.word = what, word


class UnknownRuleError(RulesError):
    def __init__(self, rule_id: str, near: Iterable[str]) -> None:
        hint = ", ".join(near)
        super().__init__(f"no rule {rule_id!r}" + (f"; did you mean {hint}?" if hint else ""))
        self.rule_id = rule_id
