"""An HNS in memory: documents by type, the errors kube-proxy meets, and a record of the calls."""

import builtins
import copy
from collections.abc import Callable
from typing import Any

import pytest

from winkube.base.ids import new_uid
from winkube.base.types import JsonObject
from winkube.hns.errors import Code, HnsError, HnsUnavailableError


class FakeHns:
    def __init__(self, version: tuple[int, int] = (9, 5)) -> None:
        self.version = version
        self.documents: dict[str, dict[str, JsonObject]] = {}
        self.calls: list[tuple[str, str]] = []
        self.attached: list[str] = []
        self.down = False
        self.fail_create: dict[str, HnsError] = {}

    def all(self, type_: str) -> list[JsonObject]:
        return [copy.deepcopy(doc) for doc in self.documents.get(type_, {}).values()]

    def seed(self, type_: str, **document: Any) -> str:
        identity = new_uid().upper()
        self.documents.setdefault(type_, {})[identity] = {"ID": identity, **document}
        return identity

    async def v1(self, method: str, path: str, body: JsonObject | None = None) -> Any:
        self._called("v1", path)
        if path == "/globals/version":
            return {"Major": self.version[0], "Minor": self.version[1]}
        identity = path.split("/")[2]
        if identity in self.attached:
            raise HnsError(Code.ENDPOINT_ALREADY_ATTACHED)
        self.attached.append(identity)
        return None

    async def create(self, type_: str, doc: JsonObject, id_: str | None = None) -> JsonObject:
        self._called("create", type_)
        if type_ in self.fail_create:
            raise self.fail_create.pop(type_)
        if type_ == "LoadBalancer":
            for other in self.documents.get(type_, {}).values():
                if _front(other) == _front(doc):
                    raise HnsError(Code.PORT_ALREADY_EXISTS)
        extra: JsonObject = {}
        if type_ == "Network":
            policy = {"Type": "ProviderAddress", "Settings": {"ProviderAddress": "172.30.0.12"}}
            extra = {"Policies": [*doc.get("Policies", ()), policy]}
        identity = self.seed(type_, **{**copy.deepcopy(doc), **extra})
        return await self.query(type_, identity)

    async def query(self, type_: str, id_: str) -> JsonObject:
        self._called("query", type_)
        return copy.deepcopy(self._find(type_, id_))

    async def list(
        self, type_: str, filter_: JsonObject | None = None
    ) -> builtins.list[JsonObject]:
        self._called("list", type_)
        keys = {"VirtualNetwork": "HostComputeNetwork"}
        return [
            doc
            for doc in self.all(type_)
            if all(doc.get(keys.get(k, k)) == v for k, v in (filter_ or {}).items())
        ]

    async def modify(self, type_: str, id_: str, doc: JsonObject) -> JsonObject:
        self._called("modify", type_)
        found = self._find(type_, id_)
        found.update(copy.deepcopy(doc))
        return copy.deepcopy(found)

    async def delete(self, type_: str, id_: str) -> None:
        self._called("delete", type_)
        self._find(type_, id_)
        del self.documents[type_][id_]

    def writes(self) -> builtins.list[tuple[str, str]]:
        return [call for call in self.calls if call[0] in ("create", "modify", "delete")]

    def _called(self, verb: str, what: str) -> None:
        if self.down:
            raise HnsUnavailableError("socket", "connection refused")
        self.calls.append((verb, what))

    def _find(self, type_: str, id_: str) -> JsonObject:
        try:
            return self.documents[type_][id_]
        except KeyError:
            raise HnsError(Code.ELEMENT_NOT_FOUND) from None


def _front(document: JsonObject) -> tuple[Any, ...]:
    mapping = document["PortMappings"][0]
    return (*document["FrontendVIPs"], mapping["Protocol"], mapping["ExternalPort"])


@pytest.fixture
def make_hns() -> Callable[..., FakeHns]:
    return FakeHns
