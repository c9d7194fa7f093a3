"""The objects of one HNS: documents in memory and on disk, and the indexes that checks need.

One thread works on a registry at a time; that is what makes requests atomic.
"""

from collections.abc import Callable, Iterator
from typing import Final

from winkube.base.clock import Clock
from winkube.base.types import JsonObject
from winkube.facts.hns import Feature, schema_version, supports
from winkube.hns.config import HnsConfig
from winkube.hns.dataplane.types import Dataplane
from winkube.hns.document import PRIVATE, to_filetime
from winkube.hns.errors import Code, HnsError
from winkube.hns.store import MemoryStore

NETWORK, ENDPOINT, NAMESPACE = "Network", "Endpoint", "Namespace"
BALANCER, ROUTE = "LoadBalancer", "SdnRoute"
KINDS: Final = (NETWORK, ENDPOINT, NAMESPACE, BALANCER, ROUTE)
_ABSENT: Final = {NETWORK: Code.NETWORK_NOT_FOUND, ENDPOINT: Code.ENDPOINT_NOT_FOUND}


FrontendKey = tuple[str, int, int]


def frontend_key(vip: str, protocol: int, port: int, *, ipv6: bool) -> FrontendKey:
    """What must be unique on a host; each family has "every address of the node" of its own."""
    return vip or ("::" if ipv6 else ""), protocol, port


class Registry:
    def __init__(
        self, config: HnsConfig, store: MemoryStore, dataplane: Dataplane, clock: Clock
    ) -> None:
        self.config, self.dataplane, self.clock = config, dataplane, clock
        self._store = store
        self._documents: dict[str, dict[str, JsonObject]] = {kind: {} for kind in KINDS}
        self.addresses: dict[tuple[str, str], str] = {}  # (network, IP) to endpoint
        self.frontends: dict[FrontendKey, str] = {}  # (VIP, protocol, port) to its owner

    def load(self) -> None:
        for kind in KINDS:
            # In order of creation: a look-up by name takes the first hit.
            rows = sorted(self._store.load(kind), key=lambda doc: doc[PRIVATE]["created"])
            self._documents[kind] = {doc["ID"]: doc for doc in rows}

    def supports(self, feature: Feature) -> bool:
        return supports(self.config.version, feature)

    def find(self, kind: str, guid: str) -> JsonObject | None:
        return self._documents[kind].get(guid)

    def get(self, kind: str, guid: str) -> JsonObject:
        """The document, or the error its absence is in a request about something else."""
        document = self.find(kind, guid)
        if document is None:
            raise HnsError(_ABSENT.get(kind, Code.ELEMENT_NOT_FOUND))
        return document

    def open(self, kind: str, guid: str) -> JsonObject:
        """The document a request is about; HNS fails to open an absent GUID with one code."""
        document = self.find(kind, guid)
        if document is None:
            raise HnsError(Code.ELEMENT_NOT_FOUND)
        return document

    def all(self, kind: str) -> Iterator[JsonObject]:
        return iter(list(self._documents[kind].values()))

    def select(self, kind: str, wanted: Callable[[JsonObject], bool]) -> list[JsonObject]:
        return [document for document in self._documents[kind].values() if wanted(document)]

    def put(self, kind: str, document: JsonObject) -> None:
        self._store.put(kind, document["ID"], document)
        self._documents[kind][document["ID"]] = document

    def remove(self, kind: str, guid: str) -> None:
        self._store.delete(kind, guid)
        self._documents[kind].pop(guid, None)

    def base_fields(self, guid: str, settings: JsonObject) -> JsonObject:
        """What every document shows, whoever made it."""
        major, minor = schema_version(self.config.version)
        version = self.config.version
        now = self.clock.now()
        return {
            "ID": guid,
            "Name": settings.get("Name", ""),
            "Owner": settings.get("Owner", ""),
            "Version": version[0] << 32 | version[1],
            "AdditionalParams": settings.get("AdditionalParams") or {},
            "Health": {
                "Data": None,
                "Extra": {"Resources": {}},
                "LastErrorCode": 0,
                "LastUpdateTime": to_filetime(now),
            },
            "SchemaVersion": {"Major": major, "Minor": minor},
            "State": 1,
            PRIVATE: {"created": now},
        }
