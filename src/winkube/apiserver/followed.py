"""What somebody has worked out of all objects of a resource, kept up to date when it is asked for.

A question first takes over what changed since the last one; when that is more than the cache
remembers, everything is read anew.
"""

from abc import ABC, abstractmethod

from winkube.api.errors import ExpiredError
from winkube.apiserver.cache import Change
from winkube.apiserver.item import Item
from winkube.apiserver.served import Served


class Followed(ABC):
    def __init__(self, served: Served) -> None:
        self.served = served
        self._seen: int | None = None

    @abstractmethod
    def put(self, item: Item) -> None:
        """The object is new; one that changed was removed before."""

    @abstractmethod
    def remove(self, key: str) -> None:
        """It may not be known."""

    @abstractmethod
    def clear(self) -> None: ...

    def catch_up(self) -> bool:
        """Whether anything has changed."""
        cache = self.served.cache
        if cache.changed == self._seen:
            return False
        changes = self._changes()
        if changes is None:
            self.clear()
            for item in cache.items():
                self.put(item)
        else:
            for change in changes:
                self.remove(change.item.key)
                if change.type != "DELETED":
                    self.put(change.item)
        self._seen = cache.changed
        return True

    def _changes(self) -> list[Change] | None:
        if self._seen is None:
            return None
        try:
            return self.served.cache.changes_after(self._seen)
        except ExpiredError:
            return None
