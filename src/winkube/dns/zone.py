"""What the cluster's zone says about a name: records from Services, EndpointSlices, namespaces.

Pure over a ``Directory`` of objects. The names are those of the Kubernetes DNS specification 1.1;
where it leaves a choice, CoreDNS' answer is given (pod names are not verified, a headless endpoint
without a host name is called by its address with dashes).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from ipaddress import ip_address
from typing import Final, Protocol

from winkube.base.types import JsonObject
from winkube.dns.message import MAX_LABEL, MAX_NAME

SPEC_VERSION: Final = "1.1.0"
MAX_CNAME_CHAIN: Final = 8
_VERSIONS: Final = {"IPv4": 4, "IPv6": 6}
_MAX_TEXT: Final = MAX_NAME - 2  # of a name without its first length and its end


class Type(IntEnum):
    A = 1
    NS = 2
    CNAME = 5
    SOA = 6
    PTR = 12
    TXT = 16
    AAAA = 28
    SRV = 33
    ANY = 255


@dataclass(frozen=True, slots=True)
class Record:
    """One resource record; names without the final dot. SRV data is (port, target)."""

    owner: str
    type: Type
    data: str | tuple[int, str]


@dataclass(slots=True)
class Found:
    """An answer: ``exists`` tells an empty one from a name that is not there."""

    exists: bool
    records: list[Record] = field(default_factory=list)
    extra: list[Record] = field(default_factory=list)
    # Where the rest has to be asked when the chain of aliases leaves the zone.
    leaves_to: str | None = None


NOT_THERE: Final = Found(exists=False)


class Directory(Protocol):
    def namespace_exists(self, name: str) -> bool: ...
    def service(self, key: str) -> JsonObject | None: ...
    def slices(self, key: str) -> Sequence[JsonObject]: ...
    def services_at(self, ip: str) -> Sequence[JsonObject]: ...
    def slices_at(self, ip: str) -> Sequence[JsonObject]: ...


@dataclass(frozen=True, slots=True)
class Endpoint:
    ip: str
    hostname: str


class Zone:
    def __init__(self, directory: Directory, domain: str, server_ip: str) -> None:
        self._directory = directory
        self.domain = domain.strip(".").lower()
        self._labels = tuple(reversed(self.domain.split(".")))
        self._server_ip = server_ip

    def holds(self, labels: Sequence[str]) -> bool:
        size = len(self._labels)
        return tuple(reversed(labels[-size:])) == self._labels if len(labels) >= size else False

    def find(self, labels: Sequence[str], type_: int) -> Found:
        """The answer for a name inside the zone, aliases followed as far as the zone goes."""
        found = self._find_one(labels, type_)
        hops = 0
        while (alias := _open_alias(found, type_)) is not None:
            target = alias.split(".")
            hops += 1
            if not self.holds(target) or hops > MAX_CNAME_CHAIN:
                found.leaves_to = alias if hops <= MAX_CNAME_CHAIN else None
                break
            following = self._find_one(target, type_)
            if not following.records:
                break
            found.records += following.records
            found.extra += following.extra
        return found

    def find_address(self, ip: str) -> Found:
        """PTR: the Service with this cluster IP, or the named endpoints of headless ones."""
        reverse = ip_address(ip).reverse_pointer
        names = [self._name_of(service) for service in self._directory.services_at(ip)]
        if not names:
            names = list(self._endpoint_names(ip))
        records = [Record(reverse, Type.PTR, name) for name in dict.fromkeys(names)]
        return Found(exists=True, records=records) if records else NOT_THERE

    def soa(self) -> tuple[str, str]:
        return f"ns.dns.{self.domain}", f"hostmaster.{self.domain}"

    def _find_one(self, labels: Sequence[str], type_: int) -> Found:
        inner = tuple(reversed(labels[: len(labels) - len(self._labels)]))
        owner = ".".join(labels)
        found = NOT_THERE
        match inner:
            case ():
                found = self._apex(owner, type_)
            case ("dns-version",):
                found = _of_type(type_, [Record(owner, Type.TXT, SPEC_VERSION)])
            case ("dns",) | ("svc",) | ("pod",):
                found = Found(exists=True)
            case ("dns", "ns"):
                found = _of_type(type_, [address_record(owner, self._server_ip)])
            case ("svc" | "pod", namespace):
                found = Found(exists=self._directory.namespace_exists(namespace))
            case ("pod", namespace, dashed):
                found = self._pod(owner, namespace, dashed, type_)
            case ("svc", namespace, service, *rest):
                found = self._service(owner, f"{namespace}/{service}", rest, type_)
        return found

    def _apex(self, owner: str, type_: int) -> Found:
        records = [
            Record(owner, Type.SOA, ""),
            Record(owner, Type.NS, f"ns.dns.{self.domain}"),
        ]
        return _of_type(type_, records)

    def _pod(self, owner: str, namespace: str, dashed: str, type_: int) -> Found:
        # Three dashes and no more can only be an IPv4 address (CoreDNS: plugin/kubernetes).
        four = dashed.count("-") == 3 and "--" not in dashed
        address = dashed.replace("-", "." if four else ":")
        if not _version(address) or not self._directory.namespace_exists(namespace):
            return NOT_THERE
        return _of_type(type_, [address_record(owner, address)])

    def _service(self, owner: str, key: str, rest: Sequence[str], type_: int) -> Found:
        service = self._directory.service(key)
        if service is None:
            return NOT_THERE
        if (service.get("spec") or {}).get("type") == "ExternalName":
            return _alias(owner, service) if not rest else NOT_THERE
        found = NOT_THERE
        match rest:
            case []:
                found = self._whole_service(owner, service, type_)
            case [hostname] if not hostname.startswith("_"):
                found = self._one_endpoint(owner, service, hostname, type_)
            case [protocol]:
                found = Found(exists=bool(list(self._ports(service, None, protocol))))
            case [protocol, port]:
                found = self._named_port(owner, service, (port, protocol), type_)
        return found

    def _whole_service(self, owner: str, service: JsonObject, type_: int) -> Found:
        if type_ == Type.SRV:
            return self._srv(owner, service, self._ports(service, None, None))
        addresses = cluster_ips(service)
        if not addresses:
            addresses = [e.ip for e in self._endpoints(service)]
            if not addresses:
                # A headless Service without endpoints is no name at all (CoreDNS: kubernetes).
                return NOT_THERE
        return _of_type(type_, [address_record(owner, ip) for ip in dict.fromkeys(addresses)])

    def _one_endpoint(self, owner: str, service: JsonObject, hostname: str, type_: int) -> Found:
        if cluster_ips(service):
            return NOT_THERE
        ips = [e.ip for e in self._endpoints(service) if e.hostname == hostname]
        if not ips:
            return NOT_THERE
        return _of_type(type_, [address_record(owner, ip) for ip in dict.fromkeys(ips)])

    def _named_port(
        self, owner: str, service: JsonObject, wanted: tuple[str, str], type_: int
    ) -> Found:
        ports = list(self._ports(service, *wanted))
        if not ports:
            return NOT_THERE
        if type_ not in (Type.SRV, Type.ANY):
            return Found(exists=True)
        return self._srv(owner, service, ports)

    def _ports(
        self, service: JsonObject, name: str | None, protocol: str | None
    ) -> Iterator[tuple[int, JsonObject]]:
        """(position, port) of the ports that "_name._protocol" means; None means any."""
        for position, port in enumerate((service.get("spec") or {}).get("ports") or ()):
            has_name = name is None or f"_{port.get('name') or ''}".lower() == name
            kind = f"_{port.get('protocol') or 'TCP'}".lower()
            if has_name and (protocol is None or kind == protocol):
                yield position, port

    def _srv(
        self, owner: str, service: JsonObject, ports: Iterable[tuple[int, JsonObject]]
    ) -> Found:
        name = self._name_of(service)
        found = Found(exists=True)
        for _, port in ports:
            addresses = cluster_ips(service)
            if addresses:
                found.records.append(Record(owner, Type.SRV, (port["port"], name)))
                found.extra += [address_record(name, ip) for ip in addresses]
                continue
            for number, endpoint in self._endpoints_of_port(service, port):
                target = f"{endpoint.hostname}.{name}"
                found.records.append(Record(owner, Type.SRV, (number, target)))
                found.extra.append(address_record(target, endpoint.ip))
        found.records = list(dict.fromkeys(found.records))
        found.extra = list(dict.fromkeys(found.extra))
        return found

    def _endpoints(self, service: JsonObject) -> Iterator[Endpoint]:
        for slice_ in self._directory.slices(_key_of(service)):
            yield from slice_endpoints(slice_)

    def _endpoints_of_port(
        self, service: JsonObject, port: JsonObject
    ) -> Iterator[tuple[int, Endpoint]]:
        for slice_ in self._directory.slices(_key_of(service)):
            for candidate in slice_.get("ports") or ():
                if (candidate.get("name") or "") == (port.get("name") or ""):
                    number = int(candidate.get("port") or port["port"])
                    yield from ((number, endpoint) for endpoint in slice_endpoints(slice_))

    def _endpoint_names(self, ip: str) -> Iterator[str]:
        for slice_ in self._directory.slices_at(ip):
            labels = slice_["metadata"].get("labels") or {}
            name = labels.get("kubernetes.io/service-name")
            service = self._directory.service(f"{slice_['metadata']['namespace']}/{name}")
            if service is None or cluster_ips(service):
                continue
            for endpoint in slice_endpoints(slice_):
                if endpoint.ip == ip:
                    yield f"{endpoint.hostname}.{self._name_of(service)}"

    def _name_of(self, service: JsonObject) -> str:
        metadata = service["metadata"]
        return f"{metadata['name']}.{metadata['namespace']}.svc.{self.domain}"


def cluster_ips(service: JsonObject) -> list[str]:
    spec = service.get("spec") or {}
    candidates = spec.get("clusterIPs") or [spec.get("clusterIP") or ""]
    return [ip for ip in candidates if _version(ip)]


def slice_endpoints(slice_: JsonObject) -> Iterator[Endpoint]:
    """The endpoints that get a record: ready ones (publishNotReadyAddresses marks all so)."""
    version = _VERSIONS.get(slice_.get("addressType", "IPv4"), 0)
    for endpoint in slice_.get("endpoints") or ():
        if (endpoint.get("conditions") or {}).get("ready") is False:
            continue
        for ip in endpoint.get("addresses") or ():
            if _version(ip) != version:
                continue
            dashed = ip.replace(".", "-").replace(":", "-")
            yield Endpoint(ip, (endpoint.get("hostname") or dashed).lower())


def address_record(owner: str, ip: str) -> Record:
    return Record(owner, Type.AAAA if ":" in ip else Type.A, ip)


def _version(text: str) -> int:
    """Zero where the text is odd: the API takes zeros in front and more, a record has bytes."""
    try:
        return 0 if "%" in text else ip_address(text).version
    except ValueError:
        return 0


def _alias(owner: str, service: JsonObject) -> Found:
    target = (service["spec"].get("externalName") or "").rstrip(".").lower()
    fits = len(target) <= _MAX_TEXT and all(0 < len(p) <= MAX_LABEL for p in target.split("."))
    # The API's names may have longer labels than those of DNS: no record can say them.
    return Found(exists=True, records=[Record(owner, Type.CNAME, target)] if fits else [])


def _key_of(service: JsonObject) -> str:
    return f"{service['metadata']['namespace']}/{service['metadata']['name']}"


def _of_type(type_: int, records: list[Record]) -> Found:
    kept = [r for r in records if type_ in (r.type, Type.ANY)]
    return Found(exists=True, records=kept)


def _open_alias(found: Found, type_: int) -> str | None:
    """The target of an alias at the end of the answer that still has to be looked up."""
    if type_ in (Type.CNAME, Type.ANY) or not found.records:
        return None
    last = found.records[-1]
    return last.data if last.type == Type.CNAME and isinstance(last.data, str) else None
