"""Which namespaces wait for each other where thousands come or go at once.

Those that are made by the thousand are named alike, or came in the same moment and went in the same
moment; others that went in the same moment share a turn: nobody knows whose they are.
"""

import re
from typing import Final, Literal

from winkube.api.meta import metadata, name_of
from winkube.base.types import JsonObject
from winkube.client.informer import Informer

# Numbers, hexadecimal ones too, and what the server appends to a generateName.
_SUFFIX: Final = re.compile(r"(-?(?=[0-9a-f]*[0-9])[0-9a-f]+|-[bcdfghjklmnpqrstvwxz2456789]{5})$")

Moment = Literal["creationTimestamp", "deletionTimestamp"]


class NamespaceFlows:
    def __init__(self, namespaces: Informer, moment: Moment) -> None:
        self._namespaces = namespaces
        self._moment = moment
        self._index = f"likeness by {moment}"
        namespaces.add_index(self._index, self._likeness)

    def of(self, name: str) -> str:
        stem = stem_of(name)
        namespace = self._namespaces.get(name)
        if namespace is None or self._namespaces.count(self._index, stem) > 1:
            return stem
        life = _life(namespace)
        if self._namespaces.count(self._index, life) > 1:
            return life
        return str(metadata(namespace).get(self._moment) or stem)

    def _likeness(self, namespace: JsonObject) -> tuple[str, ...]:
        if not metadata(namespace).get(self._moment):
            return ()
        return stem_of(name_of(namespace)), _life(namespace)


def _life(namespace: JsonObject) -> str:
    """From when to when; no name has a space."""
    known = metadata(namespace)
    return f"{known.get('creationTimestamp')} {known.get('deletionTimestamp')}"


def stem_of(name: str) -> str:
    """The name without what tells it from others of its kind."""
    while (shorter := _SUFFIX.sub("", name)) not in ("", name):
        name = shorter
    return name
