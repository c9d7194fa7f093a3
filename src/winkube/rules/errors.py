"""What can be wrong with the knowledge base or with a question to it.

RulesError
├── DataError       a rule or a table cannot be used
├── VersionError    a version or a range of versions cannot be read
├── TargetError     a target names something that does not exist
└── UnknownRuleError
"""

from collections.abc import Iterable

from winkube.base.errors import WinkubeError


class RulesError(WinkubeError):
    pass


class DataError(RulesError):
    def __init__(self, file: str, entry: str, problem: str) -> None:
        super().__init__(f"{file}: {entry}: {problem}")
        self.file, self.entry, self.problem = file, entry, problem


class VersionError(RulesError):
    def __init__(self, text: str) -> None:
        super().__init__(f"not a version or range of versions: {text!r}")
        self.text = text


class TargetError(RulesError):
    def __init__(self, what: str, word: str, known: Iterable[str]) -> None:
        super().__init__(f"unknown {what} {word!r}: choose one of {', '.join(known)}")
        self.what, self.word = what, word


class UnknownRuleError(RulesError):
    def __init__(self, rule_id: str, near: Iterable[str]) -> None:
        hint = ", ".join(near)
        super().__init__(f"no rule {rule_id!r}" + (f"; did you mean {hint}?" if hint else ""))
        self.rule_id = rule_id
