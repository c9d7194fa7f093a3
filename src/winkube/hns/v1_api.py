"""The v1 interface: HNSCall's methods and paths over the same objects."""

from collections.abc import Callable
from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.hns import policy, v1
from winkube.hns.api import HnsApi
from winkube.hns.document import fold_keys, list_of, number_of
from winkube.hns.endpoint import HOST_COMPARTMENT, is_attached
from winkube.hns.errors import Code, HnsError
from winkube.hns.guid import parse_guid
from winkube.hns.namespace import resources_of
from winkube.hns.registry import BALANCER, ENDPOINT, NAMESPACE, NETWORK, ROUTE

_FIRST_VERSION_ANSWER: Final = (7, 2)  # 1803; older builds do not know /globals/version
_ATTACH_KEYS: Final = ("ContainerId", "SystemType", "CompartmentId", "VirtualNicName")
Handler = Callable[[str, list[str], JsonObject], Any]


class V1Api:
    def __init__(self, api: HnsApi) -> None:
        self._api, self._registry = api, api.registry
        self._collections: dict[str, Handler] = {
            "networks": self._networks,
            "endpoints": self._endpoints,
            "endpointstats": self._stats,
            "policylists": self._policy_lists,
            "namespaces": self._namespaces,
            "globals": self._globals,
            "activities": self._nothing,
            "plugins": self._nothing,
        }

    def call(self, method: str, path: str, body: object) -> Any:
        """The Output of one call; the caller wraps it in ``{Success, Error, Output}``."""
        collection, *rest = [part for part in path.split("/") if part] or [""]
        handler = self._collections.get(collection.casefold())
        if handler is None:
            raise HnsError(Code.ELEMENT_NOT_FOUND)
        flat = fold_keys(body or {}, (), Code.INVALID_JSON)
        return handler(method.upper(), rest, flat)

    # -- networks -----------------------------------------------------------------------------

    def _networks(self, method: str, rest: list[str], body: JsonObject) -> Any:
        match method, len(rest):
            case "GET", 0:
                return [self._network(row) for row in self._registry.all(NETWORK)]
            case "POST", 0:
                created = self._api.networks.create(v1.network_from_v1(body))
                return self._network(self._registry.open(NETWORK, created["ID"]))
            case "GET", 1:
                return self._network(self._registry.open(NETWORK, parse_guid(rest[0])))
            case "POST", 1:
                return self._update_network(parse_guid(rest[0]), body)
            case "DELETE", 1:
                self._api.networks.delete(parse_guid(rest[0]))
                return None
            case _:
                raise HnsError(Code.REQUEST_UNSUPPORTED)

    def _update_network(self, guid: str, body: JsonObject) -> JsonObject:
        document = self._registry.open(NETWORK, guid)
        if "Policies" in body:
            given = [policy.from_v1(item) for item in list_of(body, "Policies", Code.INVALID_JSON)]
            request = {"Policies": given}
            self._api.networks.modify(
                guid, {"ResourceType": "Policy", "RequestType": "Update", "Settings": request}
            )
            document = self._registry.open(NETWORK, guid)
        return self._network(document)

    def _network(self, document: JsonObject) -> JsonObject:
        guid = document["ID"]
        count = len(self._registry.select(ENDPOINT, lambda row: row["HostComputeNetwork"] == guid))
        return v1.network_to_v1(self._api.networks.view(document), count)

    # -- endpoints ----------------------------------------------------------------------------

    def _endpoints(self, method: str, rest: list[str], body: JsonObject) -> Any:
        match method, len(rest):
            case "GET", 0:
                return [self._endpoint(row) for row in self._registry.all(ENDPOINT)]
            case "POST", 0:
                settings = v1.endpoint_from_v1(body, self._api.network_of(body))
                created = self._api.endpoints.create(settings)
                return self._endpoint(self._registry.open(ENDPOINT, created["ID"]))
            case "POST", 2:
                return self._attachment(parse_guid(rest[0]), rest[1].casefold(), body)
            case _, 1:
                return self._one_endpoint(method, parse_guid(rest[0]), body)
            case _:
                raise HnsError(Code.REQUEST_UNSUPPORTED)

    def _one_endpoint(self, method: str, guid: str, body: JsonObject) -> Any:
        match method:
            case "GET":
                return self._endpoint(self._registry.open(ENDPOINT, guid))
            case "POST":
                given = [policy.from_v1(item) for item in body.get("Policies") or []]
                settings = {"Policies": given}
                self._api.endpoints.modify(
                    guid, {"ResourceType": "Policy", "RequestType": "Reset", "Settings": settings}
                )
                return self._endpoint(self._registry.open(ENDPOINT, guid))
            case "DELETE":
                self._api.endpoints.delete(guid)
                return None
            case _:
                raise HnsError(Code.REQUEST_UNSUPPORTED)

    def _endpoint(self, document: JsonObject) -> JsonObject:
        network = self._registry.find(NETWORK, document["HostComputeNetwork"])
        namespace = self._registry.find(NAMESPACE, document["HostComputeNamespace"])
        containers = resources_of(namespace, "Container") if namespace else []
        return v1.endpoint_to_v1(document, network["Name"] if network else "", containers)

    def _attachment(self, guid: str, verb: str, body: JsonObject) -> JsonObject:
        asked = fold_keys(body, _ATTACH_KEYS, Code.INVALID_JSON)
        document = self._registry.get(ENDPOINT, guid)
        match verb:
            case "attach":
                self._attach(document, asked)
            case "detach":
                if not is_attached(document):
                    raise HnsError(Code.ENDPOINT_NOT_ATTACHED)
                self._detach(document)
            case _:
                raise HnsError(Code.REQUEST_UNSUPPORTED)
        return self._endpoint(self._registry.open(ENDPOINT, guid))

    def _attach(self, document: JsonObject, asked: JsonObject) -> None:
        system = str(asked.get("SystemType") or "Container").casefold()
        number = number_of(asked.get("CompartmentId"), {}, Code.INVALID_JSON)
        if system == "host" and number in (0, HOST_COMPARTMENT):
            self._api.endpoints.attach_to_host(document["ID"])
            return
        if system == "host":
            namespace = self._api.namespaces.of_compartment(number)
        elif system == "container":
            namespace = self._api.namespaces.of_container(str(asked.get("ContainerId") or ""))
        else:
            raise HnsError(Code.REQUEST_UNSUPPORTED)
        if namespace is None:
            raise HnsError(Code.COMPUTE_SYSTEM_DOES_NOT_EXIST)
        self._change_namespace(namespace["ID"], "Add", document["ID"])

    def _detach(self, document: JsonObject) -> None:
        namespace = document["HostComputeNamespace"]
        if namespace:
            self._change_namespace(namespace, "Remove", document["ID"])
        else:
            self._api.endpoints.detach(document["ID"])

    def _change_namespace(self, namespace: str, verb: str, endpoint: str) -> None:
        settings = {"EndpointId": endpoint}
        request = {"ResourceType": "Endpoint", "RequestType": verb, "Settings": settings}
        self._api.namespaces.modify(namespace, request)

    def _stats(self, method: str, rest: list[str], body: JsonObject) -> Any:
        if method != "GET" or len(rest) != 1 or body:
            raise HnsError(Code.REQUEST_UNSUPPORTED)
        return self._api.stats(parse_guid(rest[0]))

    # -- load balancers and routes ---------------------------------------------------------------

    def _policy_lists(self, method: str, rest: list[str], body: JsonObject) -> Any:
        match method, len(rest):
            case "GET", 0:
                return [
                    *(v1.balancer_to_v1(row) for row in self._registry.all(BALANCER)),
                    *(v1.route_to_v1(row) for row in self._registry.all(ROUTE)),
                ]
            case "POST", 0:
                return self._create_policy_list(body)
            case "GET", 1:
                return self._policy_list(parse_guid(rest[0]))
            case "DELETE", 1:
                guid = parse_guid(rest[0])
                is_balancer = self._registry.find(BALANCER, guid) is not None
                (self._api.balancers if is_balancer else self._api.routes).delete(guid)
                return None
            case _:
                raise HnsError(Code.REQUEST_UNSUPPORTED)

    def _create_policy_list(self, body: JsonObject) -> JsonObject:
        flat = fold_keys(body, ("ID", "References", "Policies"), Code.INVALID_JSON)
        match v1.policy_list_kind(flat):
            case "ELB":
                created = self._api.balancers.create(v1.balancer_from_v1(flat))
            case "ROUTE":
                created = self._api.routes.create(v1.route_from_v1(flat))
            case _:
                raise HnsError(Code.INVALID_POLICY_TYPE)
        return self._policy_list(created["ID"])

    def _policy_list(self, guid: str) -> JsonObject:
        balancer = self._registry.find(BALANCER, guid)
        if balancer is not None:
            return v1.balancer_to_v1(balancer)
        return v1.route_to_v1(self._registry.open(ROUTE, guid))

    # -- namespaces, globals ----------------------------------------------------------------------

    def _namespaces(self, method: str, rest: list[str], body: JsonObject) -> Any:
        match method, len(rest):
            case "GET", 0:
                return [v1.namespace_to_v1(row) for row in self._registry.all(NAMESPACE)]
            case "POST", 0:
                guid = self._api.namespaces.create({})["ID"]
            case "GET", 1:
                guid = parse_guid(rest[0])
            case "DELETE", 1:
                self._api.namespaces.delete(parse_guid(rest[0]))
                return None
            case "POST", 2:
                guid = parse_guid(rest[0])
                self._change_resource(guid, rest[1].casefold(), body)
            case _:
                raise HnsError(Code.REQUEST_UNSUPPORTED)
        return v1.namespace_to_v1(self._registry.open(NAMESPACE, guid))

    def _change_resource(self, guid: str, verb: str, body: JsonObject) -> None:
        verbs = {"addresource": "Add", "removeresource": "Remove"}
        if verb not in verbs:
            raise HnsError(Code.REQUEST_UNSUPPORTED)
        resource = fold_keys(body, ("Type", "Data"), Code.INVALID_JSON)
        settings = resource.get("Data")
        request = {"ResourceType": resource.get("Type"), "RequestType": verbs[verb]}
        self._api.namespaces.modify(guid, {**request, "Settings": settings})

    def _globals(self, method: str, rest: list[str], body: JsonObject) -> Any:
        major, minor = self._api.config.version
        known = method == "GET" and rest == ["version"] and not body
        if not known or (major, minor) < _FIRST_VERSION_ANSWER:
            raise HnsError(Code.ELEMENT_NOT_FOUND)
        return {"Major": major, "Minor": minor}

    def _nothing(self, method: str, rest: list[str], body: JsonObject) -> Any:
        if method != "GET" or rest or body:
            raise HnsError(Code.REQUEST_UNSUPPORTED)
        return []
