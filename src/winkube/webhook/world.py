"""The cluster that a stand-alone webhook serves: its nodes and RuntimeClasses, watched."""

import asyncio
import logging
from pathlib import Path
from typing import Final

from winkube.aio.supervise import repeat
from winkube.api.errors import ApiError
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.informer import InformerPool
from winkube.client.resource import NODES, RUNTIMECLASSES
from winkube.client.rest import ApiClient
from winkube.facts.errors import FactsError
from winkube.facts.version import LATEST, parse_version
from winkube.rules.admission.cluster import Cluster, WindowsNode, gather, read_node

log = logging.getLogger(__name__)
_TOKEN_SECONDS: Final = 60.0
_VERSION_SECONDS: Final = 600.0


class WatchedWorld:
    """Before ``synced`` it knows no Windows node, and nobody is warned."""

    def __init__(self, client: ApiClient, token_file: Path | None = None) -> None:
        self.synced = asyncio.Event()
        self.runtime_classes: dict[str, JsonObject] = {}
        self._client = client
        self._token_file = token_file
        self._pool = InformerPool(client)
        self._nodes: dict[str, WindowsNode] = {}
        self._cluster: Cluster | None = None
        self._version = str(LATEST)
        self._pool[NODES].on_change(self._note_node)
        self._pool[RUNTIMECLASSES].on_change(self._note_class)

    def cluster(self) -> Cluster:
        if self._cluster is None:
            self._cluster = gather(self._nodes.values(), self._version)
        return self._cluster

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pool.run(), name="webhook informers")
            if self._token_file is not None:
                renewal = repeat(_TOKEN_SECONDS, self._renew_token, name="token")
                group.create_task(renewal, name="webhook token")
            await self._pool.synced()
            await self._learn_version()
            self.synced.set()
            # Control planes are upgraded under us.
            await repeat(_VERSION_SECONDS, self._learn_version, name="version")

    def _note_node(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        node = None if new is None else read_node(new)
        if self._nodes.get(key) == node:
            return
        self._cluster = None
        if node is None:
            self._nodes.pop(key, None)
        else:
            self._nodes[key] = node

    def _note_class(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is None:
            self.runtime_classes.pop(key, None)
        else:
            self.runtime_classes[key] = new

    async def _learn_version(self) -> None:
        """What is served, for when there is no Windows node to ask."""
        try:
            said = await self._client.get_path("/version")
            version = parse_version(str(said.get("gitVersion")))
        except (ApiError, TransportError, FactsError) as error:
            log.warning("the server's version is not known", extra={"error": str(error)})
            return
        self._version, self._cluster = f"{version.major}.{version.minor}", None

    async def _renew_token(self) -> None:
        """A token of a pod lives for an hour, and its file is written anew before."""
        assert self._token_file is not None
        self._client.use_token(self._token_file.read_text().strip())
