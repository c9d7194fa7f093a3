"""Every part of the API server, connected: a list of constructor calls."""

from dataclasses import dataclass

from winkube.api.kinds import KindTable
from winkube.api.schema import Schema
from winkube.apiserver.admission.chain import Chain
from winkube.apiserver.admission.steps import admission_steps
from winkube.apiserver.auth.authn import Authenticator
from winkube.apiserver.auth.authz import ComponentAuthorizer
from winkube.apiserver.auth.token import TokenAuthority
from winkube.apiserver.cache import Cache
from winkube.apiserver.config import ApiServerConfig
from winkube.apiserver.discovery import Discovery
from winkube.apiserver.edge import Edge
from winkube.apiserver.metrics import Metrics
from winkube.apiserver.openapi.document import OpenApi
from winkube.apiserver.pages import Pages
from winkube.apiserver.registry.core import Registry
from winkube.apiserver.render import Renderer
from winkube.apiserver.served import Resources
from winkube.apiserver.storage import Storage
from winkube.apiserver.subresource.status import Status
from winkube.apiserver.verbs import Verbs
from winkube.apiserver.watch import WatchServer
from winkube.base.clock import Clock
from winkube.store.types import Store


@dataclass(frozen=True)
class Parts:
    cache: Cache
    registry: Registry
    edge: Edge

    async def close(self) -> None:
        return


def assemble(
    config: ApiServerConfig,
    store: Store,
    cache: Cache,
    schema: Schema,
    kinds: KindTable,
    clock: Clock,
) -> Parts:
    resources = Resources(kinds, store, cache)
    registry = Registry(
        resources=resources,
        storage=Storage(store, cache),
        schema=schema,
        admission=Chain(admission_steps(resources)),
        clock=clock,
    )
    renderer = Renderer(clock)
    verbs = Verbs(registry, renderer, WatchServer(cache, renderer, clock))
    tokens = _token_authority(config, resources, clock)
    metrics = Metrics()
    authorizer = ComponentAuthorizer()
    edge = Edge(Authenticator(tokens), authorizer, resources, verbs, metrics)
    Pages(cache, metrics, tokens, config.kubernetes_version).install(edge)
    Discovery(kinds, f"{config.advertise_address}:{config.advertise_port}").install(edge)
    OpenApi(schema, kinds).install(edge)
    edge.add_subresource("*", "status", Status(verbs).handle)
    return Parts(cache, registry, edge)


def _token_authority(config: ApiServerConfig, resources: Resources, clock: Clock) -> TokenAuthority:
    def lookup(plural: str, namespace: str, name: str) -> str | None:
        served = resources.core(plural)
        item = served.cache.get(served.key(namespace, name))
        return None if item is None else item.load()["metadata"]["uid"]

    key = config.service_account_key.read_bytes()
    return TokenAuthority(key, config.service_account_issuer, clock, lookup)
