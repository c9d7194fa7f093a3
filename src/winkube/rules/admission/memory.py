"""Answers by what was asked: a controller makes pods by the hundred from one template."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar

import orjson

from winkube.base.types import JsonObject
from winkube.rules.admission.written import notes_of

Answer = TypeVar("Answer")
_REMEMBERED: Final = 512
_MOST_BYTES: Final = 64 * 1024


class Memory(Generic[Answer]):
    """The answers given last; of large objects none is kept."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, Answer] = OrderedDict()

    def recall(self, key: bytes, make: Callable[[], Answer]) -> Answer:
        known = self._known.get(key)
        if known is not None:
            self._known.move_to_end(key)
            return known
        made = make()
        if len(key) <= _MOST_BYTES:
            self._known[key] = made
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return made


def key_of(document: JsonObject, classes: Mapping[str, JsonObject]) -> bytes:
    """Everything that an answer depends on: not the object's own name."""
    metadata = {key: value for key, value in notes_of(document).items() if key != "name"}
    return orjson.dumps([{**document, "metadata": metadata}, classes])
