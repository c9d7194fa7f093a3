"""The aggregation layer, assembled: registered servers, whether they answer, requests to them."""

from winkube.apiserver.aggregation.availability import Availability
from winkube.apiserver.aggregation.backend import Backends
from winkube.apiserver.aggregation.groups import RemoteGroups
from winkube.apiserver.aggregation.remote import Remotes
from winkube.apiserver.aggregation.specs import RemoteSpecs
from winkube.apiserver.aggregation.trust import trust_document
from winkube.apiserver.config import ApiServerConfig
from winkube.apiserver.edge import RemoteHandler
from winkube.apiserver.registry.core import Registry
from winkube.apiserver.target import Target


class Aggregator:
    def __init__(self, config: ApiServerConfig, registry: Registry) -> None:
        self.remotes = Remotes(registry.resources, registry.resources.kinds)
        self.backends = Backends(config, self.remotes)
        self.availability = Availability(
            registry, self.remotes, self.backends, trust_document(config)
        )
        self.groups = RemoteGroups(self.remotes, self.availability)
        self.specs = RemoteSpecs(self.remotes, self.backends, self.availability)

    def find(self, target: Target) -> RemoteHandler | None:
        remote = self.remotes.find(target.group, target.version)
        if remote is None:
            return None
        forward, discovery = self.backends.forward, not target.resource
        return lambda request, user: forward(request, remote, user, discovery=discovery)

    async def run(self) -> None:
        await self.availability.run()

    async def close(self) -> None:
        await self.backends.close()
