"""A bounded broadcast: one writer, many readers, and a slow reader never slows the writer."""

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Subscription(Generic[Item]):
    """One reader's queue; once it has lagged it stays lagged, and its reader has to list again."""

    def __init__(self, limit: int) -> None:
        self.lagged = False
        self._limit = limit
        self._items: deque[Item] = deque()
        self._wake = asyncio.Event()

    def offer(self, item: Item) -> None:
        if self.lagged:
            return
        if len(self._items) >= self._limit:
            self.lagged = True
            self._items.clear()
        else:
            self._items.append(item)
        self._wake.set()

    async def take(self) -> list[Item]:
        """Everything queued, at least one item; empty only when the reader has lagged."""
        while not self._items and not self.lagged:
            self._wake.clear()
            await self._wake.wait()
        items = list(self._items)
        self._items.clear()
        return items


class Hub(Generic[Item]):
    def __init__(self, limit: int = 1024) -> None:
        self._limit = limit
        self._subscriptions: set[Subscription[Item]] = set()

    def __len__(self) -> int:
        return len(self._subscriptions)

    def publish(self, item: Item) -> None:
        for subscription in self._subscriptions:
            subscription.offer(item)

    @contextmanager
    def subscribe(self) -> Iterator[Subscription[Item]]:
        subscription: Subscription[Item] = Subscription(self._limit)
        self._subscriptions.add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)
