"""The policies a plugin puts on an endpoint: those of the configuration, and those it derives.

A helper appends a policy of its own unless the same fact already stands in one of the same type
(containernetworking/plugins: pkg/hns/netconf_windows.go). Inside a policy keys are taken literally.
"""

from collections.abc import Iterable
from typing import Any

from winkube.wire import cni
from winkube.wire.cni import Json

_NAT_IPV6 = 2
_PROTOCOLS = {"tcp": 6, "udp": 17, "icmpv4": 1, "igmp": 2, "icmpv6": 58}


def configured(conf: Json) -> list[Json]:
    """Values of the items named EndpointPolicy, in any case."""
    items = [cni.fold(item, ("name", "value")) for item in conf.get("policies") or []]
    return [
        item["value"]
        for item in items
        if str(item.get("name", "")).lower() == "endpointpolicy"
        if isinstance(item.get("value"), dict)
    ]


def _settings(policy: Any, *, v2: bool) -> Json:
    found = policy.get("Settings") if v2 and isinstance(policy, dict) else policy
    return found if isinstance(found, dict) else {}


def _has(policies: Iterable[Json], key: str, fact: str, *, v2: bool) -> bool:
    return any(
        fact in (_settings(policy, v2=v2).get(key) or [])
        for policy in policies
        if policy.get("Type") == "OutBoundNAT"
    )


def _outbound(key: str, fact: str, *, v2: bool) -> Json:
    facts: Json = {key: [fact]}
    return {"Type": "OutBoundNAT", "Settings": facts} if v2 else {"Type": "OutBoundNAT", **facts}


def add_masquerade(policies: list[Json], network: str, *, v2: bool) -> None:
    """Do not translate what goes to this network (``ipMasqNetwork``)."""
    key = "Exceptions" if v2 else "ExceptionList"
    if not _has(policies, key, network, v2=v2):
        policies.append(_outbound(key, network, v2=v2))


def add_loopback_dsr(policies: list[Json], address: str, *, v2: bool) -> None:
    """Translate what the pod sends to itself, so that it can use its own service."""
    if not _has(policies, "Destinations", address, v2=v2):
        policies.append(_outbound("Destinations", address, v2=v2))


def add_port_mappings(policies: list[Json], mappings: Iterable[object], *, v2: bool) -> None:
    for item in mappings:
        row = cni.fold(item, ("hostPort", "containerPort", "protocol", "hostIP"))
        name = str(row.get("protocol") or "").lower()
        number = _PROTOCOLS.get(name, int(name) if name.isdigit() else 0)
        if not number or int(row.get("hostPort") or 0) <= 0:
            continue  # an unknown protocol is skipped without a word
        ports = {"InternalPort": int(row["containerPort"]), "ExternalPort": int(row["hostPort"])}
        if v2:
            settings = {"Protocol": number, **ports, "VIP": row.get("hostIP") or ""}
            policies.append({"Type": "PortMapping", "Settings": settings})
        else:
            policies.append({"Type": "NAT", "Protocol": row["protocol"], **ports})


def add_ipv6_twins(policies: list[Json]) -> None:
    """A host port of the other family beside each that is not of one address of the host."""
    policies += [
        {**policy, "Settings": {**policy["Settings"], "Flags": _NAT_IPV6}}
        for policy in policies
        if policy.get("Type") == "PortMapping" and not policy["Settings"].get("VIP")
    ]
