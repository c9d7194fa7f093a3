"""SDN routes: "send this prefix through the host". Here every packet of a pod goes there anyway."""

from typing import Final

from winkube.base.types import JsonObject
from winkube.hns.document import fold_keys, list_of, parse_ip, parse_prefix, public
from winkube.hns.endpoint import Endpoints
from winkube.hns.errors import Code, HnsError
from winkube.hns.guid import guid_or_new, parse_guid
from winkube.hns.registry import ENDPOINT, ROUTE, Registry

KEYS: Final = ("ID", "HostComputeEndpoints", "Setting", "Routes", "SchemaVersion", "Name")
_ROUTE_KEYS: Final = ("DestinationPrefix", "NextHop", "NeedEncap", "AutomaticEndpointMonitor")
_BAD: Final = Code.INVALID_POLICY


class SdnRoutes:
    def __init__(self, registry: Registry, endpoints: Endpoints) -> None:
        self._registry = registry
        endpoints.on_delete.append(self._forget_endpoint)

    def create(self, settings: object, guid: str | None = None) -> JsonObject:
        wanted = fold_keys(settings, KEYS, _BAD)
        route_id = guid_or_new(guid or wanted.get("ID"))
        if self._registry.find(ROUTE, route_id) is not None:
            raise HnsError(Code.ALREADY_EXISTS)
        document = self._registry.base_fields(route_id, wanted)
        document["HostComputeEndpoints"] = [
            self._registry.get(ENDPOINT, parse_guid(str(text)))["ID"]
            for text in list_of(wanted, "HostComputeEndpoints", _BAD)
        ]
        # hcsshim says Setting, the published schema says Routes.
        rows = list_of(wanted, "Setting", _BAD) or list_of(wanted, "Routes", _BAD)
        if not rows:
            raise HnsError(_BAD)
        document["Setting"] = [_route(row) for row in rows]
        self._registry.put(ROUTE, document)
        return public(document)

    def view(self, document: JsonObject) -> JsonObject:
        return public(document)

    def modify(self, guid: str, request: object) -> JsonObject:
        self._registry.open(ROUTE, guid)
        raise HnsError(Code.NOT_IMPLEMENTED, f"SDN route {guid} takes no change: {request!r:.80}")

    def delete(self, guid: str) -> None:
        self._registry.open(ROUTE, guid)
        self._registry.remove(ROUTE, guid)

    def _forget_endpoint(self, endpoint: JsonObject) -> None:
        guid = endpoint["ID"]
        for document in self._registry.all(ROUTE):
            if guid in document["HostComputeEndpoints"]:
                left = [one for one in document["HostComputeEndpoints"] if one != guid]
                self._registry.put(ROUTE, {**document, "HostComputeEndpoints": left})


def _route(row: object) -> JsonObject:
    route = fold_keys(row, _ROUTE_KEYS, _BAD)
    hop = route.get("NextHop") or ""
    return {
        "DestinationPrefix": str(parse_prefix(route.get("DestinationPrefix"))),
        "NextHop": str(parse_ip(hop)) if hop else "",
        "NeedEncap": bool(route.get("NeedEncap")),
        "AutomaticEndpointMonitor": bool(route.get("AutomaticEndpointMonitor")),
    }
