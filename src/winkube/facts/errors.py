"""What can be wrong with the tables or with a question to them.

FactsError
├── DataError       a table, or a rule made of such data, cannot be used
└── VersionError    a version or a range of versions cannot be read
"""

from winkube.base.errors import WinkubeError


class FactsError(WinkubeError):
    pass


class DataError(FactsError):
    def __init__(self, file: str, entry: str, problem: str) -> None:
        super().__init__(f"{file}: {entry}: {problem}")
        self.file, self.entry, self.problem = file, entry, problem


class VersionError(FactsError):
    def __init__(self, text: str) -> None:
        super().__init__(f"not a version or range of versions: {text!r}")
        self.text = text
