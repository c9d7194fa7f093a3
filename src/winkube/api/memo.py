"""Remember what was found out about a text; forget all when there are too many."""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

Found = TypeVar("Found")
_MAX_ENTRIES: Final = 512
_MAX_BYTES: Final = 16 * 1024


class Memo(Generic[Found]):
    """The pods of one controller have the same spec, and so the same outcome."""

    def __init__(self) -> None:
        self._known: dict[bytes, Found] = {}

    def get(self, text: bytes, find: Callable[[], Found]) -> Found:
        known = self._known.get(text)
        if known is None:
            known = find()
            if len(text) <= _MAX_BYTES:
                if len(self._known) >= _MAX_ENTRIES:
                    self._known.clear()
                self._known[text] = known
        return known
