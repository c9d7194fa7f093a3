"""The Windows nodes and RuntimeClasses of this cluster, as admission by the rules asks for them.

Nodes report often and change rarely: only what has changed since the last question is read.
"""

from collections.abc import Hashable, Iterator, Mapping
from typing import Final

from winkube.api.errors import ExpiredError
from winkube.apiserver.cache import Change, ResourceCache
from winkube.apiserver.item import Item
from winkube.apiserver.served import Resources, Served
from winkube.base.types import JsonObject
from winkube.rules.admission.cluster import Cluster, WindowsNode, gather, read_node

_WINDOWS: Final = b"windows"
_LOOK_SECONDS: Final = 3600.0


async def first_windows_node(nodes: ResourceCache) -> None:
    """Wait for it: most that the rules need is needed only then."""
    while True:
        with nodes.subscribe() as watcher:
            items = nodes.items()
            while not watcher.lagged:
                if any(_WINDOWS in item.data for item in items):
                    return
                items = [change.item for change in await watcher.take(_LOOK_SECONDS)]


class RuntimeClasses(Mapping[str, JsonObject]):
    """The stored classes by name; few pods name one."""

    def __init__(self, served: Served | None) -> None:
        self._served = served

    @property
    def changed(self) -> int:
        return self._served.cache.changed if self._served else 0

    def __getitem__(self, name: str) -> JsonObject:
        item = self._item(name)
        if item is None:
            raise KeyError(name)
        return item.load()

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._item(name) is not None

    def __iter__(self) -> Iterator[str]:
        return (item.name for item in self._served.cache.items()) if self._served else iter(())

    def __len__(self) -> int:
        return len(self._served.cache) if self._served else 0

    def _item(self, name: str) -> Item | None:
        return self._served.cache.get(self._served.key("", name)) if self._served else None


class StoredWorld:
    def __init__(self, resources: Resources, version: str) -> None:
        self._classes = RuntimeClasses(resources.find("node.k8s.io", "v1", "runtimeclasses"))
        self.runtime_classes: Mapping[str, JsonObject] = self._classes
        self._nodes = resources.core("nodes").cache
        self._version = version
        self._known: dict[str, WindowsNode] = {}
        self._seen = -1
        self._cluster: Cluster | None = None

    def sight(self) -> Hashable:
        """Equal as long as everything here is as it was."""
        return self.cluster(), self._classes.changed

    def cluster(self) -> Cluster:
        if self._catch_up() or self._cluster is None:
            self._cluster = gather(self._known.values(), self._version)
        return self._cluster

    def _catch_up(self) -> bool:
        """Whether anything that counts is different now."""
        if self._seen < 0:
            return self._read_all()
        if self._nodes.changed <= self._seen:
            return False
        before = len(self._known)
        try:
            changes = self._nodes.changes_after(self._seen)
        except ExpiredError:
            return self._read_all()
        differs = False
        for change in changes:
            differs |= self._read(change.item, is_gone=change.type == "DELETED")
        self._note(changes)
        return differs or len(self._known) != before

    def _read_all(self) -> bool:
        # The window may hold changes that are in the items already: reading them twice is harmless.
        self._seen = max(self._nodes.expired, 0)
        self._known.clear()
        for item in self._nodes.items():
            self._read(item, is_gone=False)
            self._seen = max(self._seen, item.revision)
        return True

    def _read(self, item: Item, *, is_gone: bool) -> bool:
        before = self._known.pop(item.key, None)
        if not is_gone and _WINDOWS in item.data:
            node = read_node(item.load())
            if node is not None:
                self._known[item.key] = node
        return self._known.get(item.key) != before

    def _note(self, changes: list[Change]) -> None:
        if changes:
            self._seen = max(self._seen, changes[-1].revision)
