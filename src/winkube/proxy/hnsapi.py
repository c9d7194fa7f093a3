"""The part of the HNS client that proxy and host gateway use, so that tests can stand in for it."""

from typing import Any, Protocol

from winkube.base.types import JsonObject

SCHEMA_2_0: JsonObject = {"Major": 2, "Minor": 0}


class Hns(Protocol):
    async def v1(self, method: str, path: str, body: JsonObject | None = None) -> Any: ...
    async def create(self, type_: str, doc: JsonObject, id_: str | None = None) -> JsonObject: ...
    async def query(self, type_: str, id_: str) -> JsonObject: ...
    async def list(self, type_: str, filter_: JsonObject | None = None) -> list[JsonObject]: ...
    async def modify(self, type_: str, id_: str, doc: JsonObject) -> JsonObject: ...
    async def delete(self, type_: str, id_: str) -> None: ...


async def find_network(hns: Hns, wanted: str) -> JsonObject | None:
    """The first network of this name; look-ups by name on Windows do the same."""
    found = await hns.list("Network", {"Name": wanted})
    return found[0] if found else None


def same_id(one: str, other: str) -> bool:
    """GUIDs are compared without case by every client."""
    return one.lower() == other.lower()


async def read_version(hns: Hns) -> tuple[int, int]:
    version = await hns.v1("GET", "/globals/version")
    return int(version["Major"]), int(version["Minor"])
