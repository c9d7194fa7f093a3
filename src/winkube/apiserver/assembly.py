"""Every part of the API server, connected: a list of constructor calls."""

from dataclasses import dataclass

from winkube.api.kinds import KindTable
from winkube.api.schema import Schema
from winkube.apiserver.admission.steps import admission_chain
from winkube.apiserver.aggregation.aggregator import Aggregator
from winkube.apiserver.auth.authn import Authenticator
from winkube.apiserver.auth.authz import MastersAuthorizer
from winkube.apiserver.auth.legacy_tracking import LegacyTokenTracking
from winkube.apiserver.auth.node import NodeAuthorizer
from winkube.apiserver.auth.rbac import FirstAllowing, RbacAuthorizer
from winkube.apiserver.auth.token import TokenAuthority
from winkube.apiserver.bookmark import Bookmarks
from winkube.apiserver.cache import Cache
from winkube.apiserver.chance import Chance
from winkube.apiserver.config import ApiServerConfig
from winkube.apiserver.edge import Edge
from winkube.apiserver.encryption import Encryption
from winkube.apiserver.form.deprecation import Deprecations
from winkube.apiserver.openapi.document import OpenApi
from winkube.apiserver.pages.component_status import ComponentStatuses
from winkube.apiserver.pages.discovery import Discovery
from winkube.apiserver.pages.metrics import Metrics
from winkube.apiserver.pages.plain import Pages
from winkube.apiserver.registry.core import Registry
from winkube.apiserver.render import Renderer
from winkube.apiserver.reviews import Reviews
from winkube.apiserver.served import Resources
from winkube.apiserver.services.hook import ServiceHook
from winkube.apiserver.services.ranges import Ranges
from winkube.apiserver.storage import Storage
from winkube.apiserver.streaming.kubelet import Kubelets
from winkube.apiserver.subresource.binding import Binding
from winkube.apiserver.subresource.connect import Connect, StreamKind
from winkube.apiserver.subresource.eviction import Eviction
from winkube.apiserver.subresource.log import Log
from winkube.apiserver.subresource.parts import install_parts
from winkube.apiserver.subresource.proxy import Proxy
from winkube.apiserver.subresource.scale import Scale
from winkube.apiserver.subresource.token import Token
from winkube.apiserver.upkeep.expiry import EventExpiry
from winkube.apiserver.verbs import Verbs
from winkube.apiserver.watch import WatchServer
from winkube.base.clock import Clock
from winkube.base.types import JsonObject
from winkube.store.types import Store


@dataclass(frozen=True)
class Parts:
    cache: Cache
    registry: Registry
    edge: Edge
    kubelets: Kubelets
    expiry: EventExpiry
    aggregator: Aggregator
    tracking: LegacyTokenTracking

    async def close(self) -> None:
        await self.kubelets.close()
        await self.aggregator.close()
        await self.registry.admission.close()


@dataclass(frozen=True)
class Backend:
    """Where objects are kept."""

    store: Store
    cache: Cache
    encryption: Encryption | None


def assemble(
    config: ApiServerConfig,
    backend: Backend,
    schema: Schema,
    kinds: KindTable,
    clock: Clock,
) -> Parts:
    store, cache, encryption = backend.store, backend.cache, backend.encryption
    resources = Resources(kinds, store, cache)
    chance = Chance()
    authorizer = FirstAllowing(
        MastersAuthorizer(), NodeAuthorizer(resources), RbacAuthorizer(resources)
    )
    storage = _storage(store, cache, encryption)
    registry = Registry(
        resources=resources,
        storage=storage,
        schema=schema,
        admission=admission_chain(resources, authorizer, storage, clock, schema),
        clock=clock,
        chance=chance,
        hooks={resources.core("services").prefix: _service_hook(config, resources)},
    )
    renderer = Renderer(clock)
    verbs = Verbs(registry, renderer, WatchServer(cache, renderer, Bookmarks(schema), clock))
    tokens = _token_authority(config, resources, clock)
    metrics = Metrics()
    edge = Edge(Authenticator(tokens, clock), authorizer, resources, verbs, metrics)
    edge.deprecate(Deprecations(config.kubernetes_version))
    Pages(cache, metrics, tokens, config.kubernetes_version).install(edge)
    aggregator = Aggregator(config, registry)
    edge.delegate(aggregator)
    address = f"{config.advertise_address}:{config.advertise_port}"
    Discovery(kinds, address, aggregator.groups).install(edge)
    OpenApi(schema, kinds, aggregator.specs).install(edge)
    Reviews(authorizer, tokens, registry).install(edge)
    install_parts(edge, verbs)
    components = ComponentStatuses(registry, renderer)
    edge.add_virtual("", "componentstatuses", components.handle)
    kubelets = Kubelets(config, resources)
    _install_subresources(edge, registry, kubelets)
    issuing = Token(tokens, registry, authorizer)
    edge.add_subresource("serviceaccounts", "token", issuing.handle)
    expiry = EventExpiry(resources, registry.storage, clock)
    tracking = LegacyTokenTracking(registry, tokens)
    return Parts(cache, registry, edge, kubelets, expiry, aggregator, tracking)


def _install_subresources(edge: Edge, registry: Registry, kubelets: Kubelets) -> None:
    binding, proxy = Binding(registry), Proxy(kubelets, registry)
    edge.add_subresource("*", "scale", Scale(registry).handle)
    edge.add_subresource("pods", "binding", binding.handle)
    edge.add_creation("", "bindings", binding.handle)
    edge.add_subresource("pods", "eviction", Eviction(registry).handle)
    edge.add_subresource("pods", "log", Log(kubelets).handle)
    kinds: tuple[StreamKind, ...] = ("exec", "attach", "portforward")
    for kind in kinds:
        edge.add_subresource("pods", kind, Connect(kubelets, registry.admission, kind).handle)
    for plural in ("nodes", "pods", "services"):
        edge.add_subresource(plural, "proxy", proxy.handle)


def _storage(store: Store, cache: Cache, encryption: Encryption | None) -> Storage:
    if encryption is None:
        return Storage(store, cache)
    return Storage(store, cache, seal=encryption.seal, unseal=encryption.unseal)


def _service_hook(config: ApiServerConfig, resources: Resources) -> ServiceHook:
    served = resources.find("networking.k8s.io", "v1", "servicecidrs")
    ranges = None if served is None else Ranges(served)
    hook = ServiceHook(config.service_cidr, config.node_port_range, ranges)
    hook.restore(item.load() for item in resources.core("services").cache.items())
    return hook


def _token_authority(config: ApiServerConfig, resources: Resources, clock: Clock) -> TokenAuthority:
    def lookup(plural: str, namespace: str, name: str) -> JsonObject | None:
        served = resources.core(plural)
        item = served.cache.get(served.key(namespace, name))
        return None if item is None else item.load()

    key = config.service_account_key.read_bytes()
    return TokenAuthority(key, config.service_account_issuer, clock, lookup)
