"""The node object as others have made it: labels and taints that users added."""

from collections.abc import Callable, Mapping

from winkube.api.errors import ApiError
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.informer import Informer
from winkube.client.resource import NODES
from winkube.client.rest import ApiClient
from winkube.kubelet.config import KubeletConfig


class OwnNode:
    def __init__(
        self, config: KubeletConfig, client: ApiClient, labels: Callable[[], Mapping[str, str]]
    ) -> None:
        self._config = config
        self._client = client
        self._labels = labels
        name = f"metadata.name={config.node_name}"
        self._informer = Informer(client, NODES, field_selector=name)

    async def run(self) -> None:
        await self._informer.run()

    def known(self) -> JsonObject:
        """The newest we have seen; before that, what we register with."""
        found = self._informer.get(self._config.node_name)
        if found is not None:
            return found
        taints = [*self._config.taints]
        return {"metadata": {"labels": dict(self._labels())}, "spec": {"taints": taints}}

    async def fetch(self) -> JsonObject:
        """The newest there is, if it can be had."""
        try:
            return await self._client.get(NODES, self._config.node_name)
        except (ApiError, TransportError):
            return self.known()
