"""The HCN v2 interface: five kinds of objects, six verbs, no transport.

Also the assembly of one HNS: entities over a registry, brought back from disk by ``start``.
"""

import json
from typing import TYPE_CHECKING, Any, Final, Protocol

from winkube.base.clock import Clock
from winkube.base.types import JsonObject
from winkube.facts.hns import Feature
from winkube.hns import v1
from winkube.hns.config import HnsConfig
from winkube.hns.dataplane.types import Dataplane, World
from winkube.hns.document import PRIVATE, fold_keys
from winkube.hns.endpoint import Endpoints, is_attached, link_of
from winkube.hns.errors import Code, HnsError
from winkube.hns.guid import parse_guid
from winkube.hns.loadbalancer import LoadBalancers
from winkube.hns.namespace import Namespaces
from winkube.hns.network import Networks, bridge_of
from winkube.hns.registry import BALANCER, ENDPOINT, NAMESPACE, NETWORK, ROUTE, Registry
from winkube.hns.route import SdnRoutes
from winkube.hns.store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable

# Clients filter endpoints of a network by the v1 key, also in v2 queries.
_FILTER_KEYS: Final = {"virtualnetwork": "HostComputeNetwork", "id": "ID", "name": "Name"}


class Entity(Protocol):
    def create(self, settings: object, guid: str | None = None) -> JsonObject: ...

    def view(self, document: JsonObject) -> JsonObject: ...

    def modify(self, guid: str, request: object) -> JsonObject: ...

    def delete(self, guid: str) -> None: ...


class HnsApi:
    def __init__(
        self, config: HnsConfig, store: MemoryStore, dataplane: Dataplane, clock: Clock
    ) -> None:
        self.config, self.registry = config, Registry(config, store, dataplane, clock)
        self.endpoints = Endpoints(self.registry)
        self.networks = Networks(self.registry, self.endpoints)
        self.namespaces = Namespaces(self.registry, self.endpoints)
        self.balancers = LoadBalancers(self.registry, self.endpoints)
        self.routes = SdnRoutes(self.registry, self.endpoints)
        self._entities: dict[str, Entity] = {
            NETWORK: self.networks,
            ENDPOINT: self.endpoints,
            NAMESPACE: self.namespaces,
            BALANCER: self.balancers,
            ROUTE: self.routes,
        }
        self._verbs: dict[str, Callable[[str, JsonObject], Any]] = {
            "enumerate": self._enumerate,
            "list": self._list,
            "create": self._create,
            "open": self._query,
            "query": self._query,
            "modify": self._modify,
            "delete": self._delete,
            "stats": self._stats,
        }

    def start(self) -> None:
        """Read the documents and make the dataplane fit them, without cutting traffic."""
        self.registry.load()
        self.namespaces.restore()
        endpoints = list(self.endpoints.restore())
        attached = [row for row in endpoints if is_attached(row)]
        in_pods = [row for row in attached if "netns" in row[PRIVATE]]
        on_host = [row for row in attached if "netns" not in row[PRIVATE]]
        rules = {row["ID"]: self.endpoints.rules(row) for row in in_pods}
        self.registry.dataplane.restore(
            World(
                bridges=tuple(bridge_of(row) for row in self.registry.all(NETWORK)),
                namespaces=tuple(
                    row[PRIVATE]["netns"]
                    for row in self.registry.all(NAMESPACE)
                    if "netns" in row[PRIVATE]
                ),
                ports=tuple(self.endpoints.port(row) for row in in_pods),
                host_ports=tuple(self.endpoints.host_port(row) for row in on_host),
                rules=rules | self.balancers.restore(),
            )
        )

    def call(self, kind: str, verb: str, body: object) -> Any:
        """One v2 request; the result is JSON."""
        if not self.registry.supports(Feature.V2_API):
            raise HnsError(Code.NOT_IMPLEMENTED)
        if kind not in self._entities or verb not in self._verbs:
            raise HnsError(Code.REQUEST_UNSUPPORTED)
        keys = ("Id", "Settings", "Filter", "Query", "Flags")
        return self._verbs[verb](kind, fold_keys(body or {}, keys, Code.INVALID_JSON))

    def show(self, kind: str, guid: str) -> JsonObject:
        return self._entities[kind].view(self.registry.open(kind, guid))

    def _create(self, kind: str, body: JsonObject) -> JsonObject:
        settings, guid = body.get("Settings") or {}, body.get("Id")
        if kind == NETWORK and v1.is_v1_network(settings):
            settings = v1.network_from_v1(settings)
        if kind == ENDPOINT and v1.is_v1_endpoint(settings):
            settings = v1.endpoint_from_v1(settings, self.network_of(settings))
        return self._entities[kind].create(settings, guid)

    def network_of(self, flat: JsonObject) -> str:
        """The network a v1 endpoint names, by GUID or by name."""
        if flat.get("VirtualNetwork"):
            return parse_guid(flat["VirtualNetwork"])
        name = flat.get("VirtualNetworkName")
        found = self.registry.select(NETWORK, lambda row: row["Name"] == name)
        if not found:
            raise HnsError(Code.NETWORK_NOT_FOUND)
        return str(found[0]["ID"])

    def _enumerate(self, kind: str, body: JsonObject) -> list[str]:
        return [row["ID"] for row in self._selected(kind, body)]

    def _list(self, kind: str, body: JsonObject) -> list[JsonObject]:
        return [self._entities[kind].view(row) for row in self._selected(kind, body)]

    def _query(self, kind: str, body: JsonObject) -> JsonObject:
        return self.show(kind, _guid(body))

    def _modify(self, kind: str, body: JsonObject) -> JsonObject:
        return self._entities[kind].modify(_guid(body), body.get("Settings") or {})

    def _delete(self, kind: str, body: JsonObject) -> None:
        self._entities[kind].delete(_guid(body))

    def _stats(self, kind: str, body: JsonObject) -> JsonObject:
        if kind != ENDPOINT:
            raise HnsError(Code.REQUEST_UNSUPPORTED)
        return self.stats(_guid(body))

    def stats(self, guid: str) -> JsonObject:
        document = self.registry.open(ENDPOINT, guid)
        counters = self.registry.dataplane.counters(link_of(document))
        return {
            "EndpointId": document["ID"],
            "InstanceId": document["ID"],
            "PacketsReceived": counters.packets_received,
            "BytesReceived": counters.bytes_received,
            "DroppedPacketsIncoming": counters.dropped_received,
            "PacketsSent": counters.packets_sent,
            "BytesSent": counters.bytes_sent,
            "DroppedPacketsOutgoing": counters.dropped_sent,
        }

    def _selected(self, kind: str, body: JsonObject) -> list[JsonObject]:
        query = fold_keys(body.get("Query") or body, ("Filter",), Code.INVALID_JSON)
        wanted = _parse_filter(query.get("Filter"))
        if set(wanted) == {"ID"} and isinstance(wanted["ID"], str):
            found = self.registry.find(kind, wanted["ID"].strip("{}").upper())
            return [found] if found is not None else []
        return self.registry.select(
            kind, lambda row: all(_equal(row.get(k), v) for k, v in wanted.items())
        )


def _guid(body: JsonObject) -> str:
    return parse_guid(str(body.get("Id", "")))


def _parse_filter(text: object) -> JsonObject:
    """A filter is a string holding JSON: an equality map."""
    if not text:
        return {}
    try:
        wanted = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        raise HnsError(Code.INVALID_JSON) from None
    if not isinstance(wanted, dict):
        raise HnsError(Code.INVALID_JSON)
    return {_FILTER_KEYS.get(str(key).casefold(), str(key)): value for key, value in wanted.items()}


def _equal(have: object, want: object) -> bool:
    if isinstance(have, str) and isinstance(want, str):
        return have == want or have.upper() == want.strip("{}").upper()
    return have == want
