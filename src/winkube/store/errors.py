"""Errors of the store.

StoreError
├── CompactedError      the history a watch asks for is gone: list again
├── LaggedError         the watcher read too slowly and was cut off: list again
├── StoreClosedError    the store was closed while something waited for it
├── StoreLockedError    another process has the file open
└── StoreFailedError    the disk refused: nothing of the write was kept
"""

from winkube.base.errors import WinkubeError


class StoreError(WinkubeError):
    pass


class CompactedError(StoreError):
    def __init__(self, after: int, compacted: int) -> None:
        super().__init__(f"revision {after} is compacted away: history starts after {compacted}")
        self.after, self.compacted = after, compacted


class LaggedError(StoreError):
    def __init__(self, prefix: str) -> None:
        super().__init__(f"watcher of {prefix!r} fell behind and was cut off")
        self.prefix = prefix


class StoreClosedError(StoreError):
    def __init__(self) -> None:
        super().__init__("the store is closed")


class StoreLockedError(StoreError):
    def __init__(self, path: str) -> None:
        super().__init__(f"store {path} is in use by another process")
        self.path = path


class StoreFailedError(StoreError):
    def __init__(self, cause: str) -> None:
        super().__init__(f"the store could not write: {cause}")
        self.cause = cause
