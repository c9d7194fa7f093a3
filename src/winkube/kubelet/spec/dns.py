"""A pod's resolver by dnsPolicy and dnsConfig (kubernetes: pkg/kubelet/network/dns)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from winkube.base.types import JsonObject
from winkube.kubelet.pod import identity

MAX_SERVERS: Final = 3
MAX_SEARCHES: Final = 32
MAX_SEARCH_CHARACTERS: Final = 2048
_CLUSTER_OPTIONS: Final = ("ndots:5",)


@dataclass(frozen=True, slots=True)
class Resolver:
    servers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterDns:
    servers: tuple[str, ...]
    domain: str


def plan_dns(pod: JsonObject, cluster: ClusterDns, host: Resolver) -> Resolver:
    base = _by_policy(pod, cluster, host)
    extra = pod["spec"].get("dnsConfig") or {}
    searches = _unique((*base.searches, *(extra.get("searches") or ())))
    return Resolver(
        servers=_unique((*base.servers, *(extra.get("nameservers") or ())))[:MAX_SERVERS],
        searches=_fitting(searches),
        options=_merge_options(base.options, extra.get("options") or ()),
    )


def _by_policy(pod: JsonObject, cluster: ClusterDns, host: Resolver) -> Resolver:
    policy = pod["spec"].get("dnsPolicy") or "ClusterFirst"
    if policy == "None":
        return Resolver()
    if policy == "ClusterFirst" and identity.is_host_network(pod):
        policy = "Default"
    if policy == "Default" or not cluster.servers:
        return host
    domain = cluster.domain
    namespace = identity.namespace_of(pod)
    own = (f"{namespace}.svc.{domain}", f"svc.{domain}", domain) if domain else ()
    return Resolver(cluster.servers, _unique((*own, *host.searches)), _CLUSTER_OPTIONS)


def load_resolver(path: Path | None) -> Resolver:
    """The host's resolv.conf; without one a pod asks itself, as upstream's empty --resolv-conf."""
    if path is None:
        return Resolver(("127.0.0.1",), (".",))
    try:
        return parse_resolver(path.read_text())
    except OSError:
        return Resolver()


def parse_resolver(text: str) -> Resolver:
    servers: list[str] = []
    searches: Sequence[str] = ()
    options: Sequence[str] = ()
    for line in text.splitlines():
        words = line.split("#")[0].split(";")[0].split()
        match words:
            case ["nameserver", address, *_]:
                servers.append(address)
            case ["search", *domains]:
                searches = [_trim(domain) for domain in domains]
            case ["options", *found]:
                options = found
    return Resolver(tuple(servers[:MAX_SERVERS]), tuple(searches), tuple(options))


def _trim(domain: str) -> str:
    return domain if domain == "." else domain.removesuffix(".")


def _unique(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))


def _fitting(searches: Sequence[str]) -> tuple[str, ...]:
    kept: list[str] = []
    for domain in searches[:MAX_SEARCHES]:
        if len(" ".join([*kept, domain])) > MAX_SEARCH_CHARACTERS:
            break
        kept.append(domain)
    return tuple(kept)


def _merge_options(base: Sequence[str], extra: Sequence[JsonObject]) -> tuple[str, ...]:
    """A pod's own option replaces the one of the same name."""
    merged = dict(_split(option) for option in base)
    merged.update({option["name"]: str(option.get("value") or "") for option in extra})
    return tuple(f"{name}:{value}" if value else name for name, value in merged.items())


def _split(option: str) -> tuple[str, str]:
    name, _, value = option.partition(":")
    return name, value
