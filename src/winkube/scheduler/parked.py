"""Pods that no node took, by what they need: pods alike get one answer, however many they are."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from winkube.scheduler.queue import Waiting

Likeness = tuple[object, ...]


class Parked:
    def __init__(self) -> None:
        # In the order they were parked.
        self._entries: dict[str, tuple[Waiting, Likeness]] = {}
        self._groups: dict[Likeness, dict[str, Waiting]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def add(self, entry: "Waiting") -> None:
        key = entry.pod.key
        self.discard(key)
        alike = _likeness(entry)
        self._entries[key] = (entry, alike)
        self._groups.setdefault(alike, {})[key] = entry

    def discard(self, key: str) -> None:
        found = self._entries.pop(key, None)
        if found is None:
            return
        group = self._groups[found[1]]
        del group[key]
        if not group:
            del self._groups[found[1]]

    def changed(self, key: str) -> None:
        """The pod is another one now, in the place of the one it was."""
        entry, old = self._entries[key]
        alike = _likeness(entry)
        if alike != old:
            group = self._groups[old]
            del group[key]
            if not group:
                del self._groups[old]
            self._entries[key] = (entry, alike)
            self._groups.setdefault(alike, {})[key] = entry

    def groups(self) -> list[list["Waiting"]]:
        return [list(group.values()) for group in self._groups.values()]

    def oldest(self) -> Iterator["Waiting"]:
        """Take none away while this goes on."""
        return (entry for entry, _ in self._entries.values())


def _likeness(entry: "Waiting") -> Likeness:
    pod = entry.pod
    return (entry.plugins, pod.shape, pod.namespace, tuple(pod.labels.items()), pod.claims)
