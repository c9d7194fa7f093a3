"""Namespaces: pods' network compartments, each backed by a kernel network namespace.

Compartment 1 is the host's own; its namespace always exists and cannot be deleted.
"""

from typing import Final

from winkube.base.types import JsonObject
from winkube.hns.document import PRIVATE, fold_keys, list_of, public
from winkube.hns.endpoint import HOST_COMPARTMENT, Endpoints
from winkube.hns.errors import Code, HnsError
from winkube.hns.guid import guid_or_new, parse_guid, short
from winkube.hns.registry import ENDPOINT, NAMESPACE, Registry
from winkube.linux.netns import netns_path

TYPES: Final = ("Host", "HostDefault", "Guest", "GuestDefault")
KEYS: Final = ("ID", "Type", "NamespaceId", "NamespaceGuid", "Resources", "SchemaVersion", "Name")
HOST_DEFAULT: Final = "B1062982-0000-4000-8000-000000000001"
_BAD: Final = Code.INVALID_JSON


class Namespaces:
    def __init__(self, registry: Registry, endpoints: Endpoints) -> None:
        self._registry, self._endpoints = registry, endpoints
        endpoints.on_delete.append(self._forget_endpoint)

    def restore(self) -> None:
        """The host's own namespace, and members as the endpoints' documents have them.

        An attachment is two documents; a service killed between them leaves the endpoint's word.
        """
        if self._registry.find(NAMESPACE, HOST_DEFAULT) is None:
            document = self._document(HOST_DEFAULT, "HostDefault", HOST_COMPARTMENT)
            self._registry.put(NAMESPACE, document)
        members = {row["ID"]: row["HostComputeNamespace"] for row in self._registry.all(ENDPOINT)}
        for document in self._registry.all(NAMESPACE):
            if document["ID"] != HOST_DEFAULT:
                self._reconcile(document, {e for e, n in members.items() if n == document["ID"]})

    def _reconcile(self, document: JsonObject, members: set[str]) -> None:
        listed = set(resources_of(document, "Endpoint"))
        for endpoint_id in listed ^ members:
            current = self._registry.open(NAMESPACE, document["ID"])
            key = ("Endpoint", endpoint_id)
            if endpoint_id in members:
                self._set_resources(current, add=key)
            else:
                self._set_resources(current, remove=key)

    def create(self, settings: object, guid: str | None = None) -> JsonObject:
        wanted = fold_keys(settings or {}, KEYS, _BAD)
        namespace_id = guid_or_new(guid or wanted.get("ID"))
        if self._registry.find(NAMESPACE, namespace_id) is not None:
            raise HnsError(Code.ALREADY_EXISTS)
        kind = wanted.get("Type") or "Host"
        if kind not in TYPES or kind == "HostDefault":
            raise HnsError(Code.REQUEST_UNSUPPORTED if kind in TYPES else _BAD)
        document = self._document(namespace_id, kind, self._next_compartment())
        name = f"{self._registry.config.netns_prefix}{short(namespace_id, 12)}"
        document["AdditionalParams"] = {"netns": str(netns_path(name))}
        document[PRIVATE]["netns"] = name
        self._registry.dataplane.ensure_namespace(name)
        self._registry.put(NAMESPACE, document)
        for resource in list_of(wanted, "Resources", _BAD):
            self._change(namespace_id, "Add", fold_keys(resource, ("Type", "Data"), _BAD))
        return self.view(self._registry.open(NAMESPACE, namespace_id))

    def view(self, document: JsonObject) -> JsonObject:
        return public(document)

    def modify(self, guid: str, request: object) -> JsonObject:
        """``{ResourceType: Endpoint|Container, RequestType: Add|Remove, Settings: {…Id}}``."""
        asked = fold_keys(request, ("ResourceType", "RequestType", "Settings"), _BAD)
        verb = asked.get("RequestType")
        if verb not in ("Add", "Remove"):
            raise HnsError(Code.REQUEST_UNSUPPORTED)
        self._registry.open(NAMESPACE, guid)
        resource = {"Type": asked.get("ResourceType"), "Data": asked.get("Settings")}
        self._change(guid, verb, resource)
        return self.view(self._registry.open(NAMESPACE, guid))

    def delete(self, guid: str) -> None:
        document = self._registry.open(NAMESPACE, guid)
        if guid == HOST_DEFAULT:
            raise HnsError(Code.REQUEST_UNSUPPORTED)
        for endpoint_id in resources_of(document, "Endpoint"):
            if self._registry.find(ENDPOINT, endpoint_id) is not None:
                self._endpoints.detach(endpoint_id)
        self._registry.remove(NAMESPACE, guid)
        self._registry.dataplane.delete_namespace(document[PRIVATE]["netns"])

    def of_container(self, container_id: str) -> JsonObject | None:
        """The namespace a container was put into (v1 attaches endpoints by container)."""
        folded = container_id.casefold()
        return next(
            (
                row
                for row in self._registry.all(NAMESPACE)
                if folded in {one.casefold() for one in resources_of(row, "Container")}
            ),
            None,
        )

    def of_compartment(self, number: int) -> JsonObject | None:
        rows = self._registry.select(NAMESPACE, lambda row: row["NamespaceId"] == number)
        return rows[0] if rows else None

    def _change(self, guid: str, verb: str, resource: JsonObject) -> None:
        data = fold_keys(
            resource.get("Data") or {}, ("EndpointId", "ContainerId", "ID"), Code.INVALID_JSON
        )
        match resource.get("Type"):
            case "Endpoint":
                endpoint_id = parse_guid(str(data.get("EndpointId") or data.get("ID") or ""))
                change = self._add_endpoint if verb == "Add" else self._remove_endpoint
                change(guid, endpoint_id)
            case "Container":
                self._change_container(guid, verb, str(data.get("ContainerId") or data.get("ID")))
            case _:
                raise HnsError(Code.REQUEST_UNSUPPORTED)

    def _add_endpoint(self, guid: str, endpoint_id: str) -> None:
        document = self._registry.open(NAMESPACE, guid)
        if endpoint_id in resources_of(document, "Endpoint"):
            raise HnsError(Code.ENDPOINT_NAMESPACE_ALREADY_EXISTS)
        if guid == HOST_DEFAULT:
            self._endpoints.attach_to_host(endpoint_id)
        else:
            # One card per compartment: a pod has one endpoint.
            if resources_of(document, "Endpoint"):
                raise HnsError(Code.REQUEST_UNSUPPORTED)
            self._endpoints.attach_to_namespace(endpoint_id, guid, document[PRIVATE]["netns"])
        self._set_resources(document, add=("Endpoint", endpoint_id))

    def _remove_endpoint(self, guid: str, endpoint_id: str) -> None:
        document = self._registry.open(NAMESPACE, guid)
        self._registry.get(ENDPOINT, endpoint_id)
        if endpoint_id not in resources_of(document, "Endpoint"):
            raise HnsError(Code.ENDPOINT_NOT_ATTACHED)
        self._set_resources(document, remove=("Endpoint", endpoint_id))
        self._endpoints.detach(endpoint_id)

    def _change_container(self, guid: str, verb: str, container_id: str) -> None:
        document = self._registry.open(NAMESPACE, guid)
        if verb == "Add":
            self._set_resources(document, add=("Container", container_id))
        else:
            self._set_resources(document, remove=("Container", container_id))

    def _set_resources(
        self,
        document: JsonObject,
        *,
        add: tuple[str, str] | None = None,
        remove: tuple[str, str] | None = None,
    ) -> None:
        rows = [row for row in document["Resources"] if _row_key(row) not in (add, remove)]
        if add is not None:
            rows.append({"Type": add[0], "Data": {"Id": add[1]}})
        self._registry.put(NAMESPACE, {**document, "Resources": rows})

    def _forget_endpoint(self, endpoint: JsonObject) -> None:
        for document in self._registry.all(NAMESPACE):
            if endpoint["ID"] in resources_of(document, "Endpoint"):
                self._set_resources(document, remove=("Endpoint", endpoint["ID"]))

    def _document(self, guid: str, kind: str, compartment: int) -> JsonObject:
        document = self._registry.base_fields(guid, {})
        document |= {"NamespaceId": compartment, "NamespaceGuid": guid, "Type": kind}
        document["Resources"] = []
        return document

    def _next_compartment(self) -> int:
        used = {row["NamespaceId"] for row in self._registry.all(NAMESPACE)}
        return next(number for number in range(2, len(used) + 3) if number not in used)


def _row_key(row: JsonObject) -> tuple[str, str]:
    return row["Type"], row["Data"]["Id"]


def resources_of(document: JsonObject, kind: str) -> list[str]:
    return [row["Data"]["Id"] for row in document["Resources"] if row["Type"] == kind]
