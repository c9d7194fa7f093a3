"""The pod network of a Linux node: kernel knobs, outbound translation, bridge configuration."""

import asyncio
import json
import logging
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from winkube.aio.command import run
from winkube.proxy.cniconf import BRIDGE, LINUX_CONF, linux_conflist, write_conf
from winkube.proxy.family import ONLY_IPV4, Family, Network, family_of

TABLE: Final = "winkube-pods"
_KNOBS: Final = Path("/proc/sys/net")
_FORWARDING: Final = {4: _KNOBS / "ipv4/ip_forward", 6: _KNOBS / "ipv6/conf/all/forwarding"}
_BRIDGE_KNOBS: Final = {
    4: _KNOBS / "bridge/bridge-nf-call-iptables",
    6: _KNOBS / "bridge/bridge-nf-call-ip6tables",
}
log = logging.getLogger(__name__)


def outbound_ruleset(pod_cidr: Network, inside: tuple[str, ...], *, bridged: bool) -> str:
    """Pods leave the cluster with the node's address; inside it they keep their own.

    ``bridged``: bridge traffic passes netfilter. Where it does not, a pod answers its neighbour
    straight over the bridge and the answer misses the translation back from the service address;
    then those connections have to go through the node in both directions.
    """
    family = family_of(str(pod_cidr))
    ip = family.word
    neighbours = "" if bridged else f"ct status dnat {ip} daddr {pod_cidr} masquerade"
    return f"""
add table {ip} {TABLE}
delete table {ip} {TABLE}
table {ip} {TABLE} {{
  chain postrouting {{
    type nat hook postrouting priority srcnat + 10
    {ip} saddr != {pod_cidr} return
    {neighbours}
    {ip} daddr != {{ {", ".join((*inside, *family.nearby))} }} masquerade fully-random
  }}
}}
"""


def ensure_knobs(families: Collection[Family] = ONLY_IPV4) -> bool:
    """Forward packets, and show bridged ones to netfilter; False where the kernel cannot."""
    for family in families:
        _FORWARDING[family.version].write_text("1\n")
    knobs = [_BRIDGE_KNOBS[family.version] for family in families]
    if not all(knob.exists() for knob in knobs):
        log.warning("no bridge netfilter, connections between neighbour pods are masqueraded")
        return False
    for knob in knobs:
        knob.write_text("1\n")
    return True


async def ensure_linux_network(
    ranges: Mapping[Family, Network],
    inside: Mapping[Family, tuple[str, ...]],
    conf_dir: Path,
    data_dir: Path,
) -> None:
    for family, cidr in ranges.items():
        await _drop_foreign_bridge(family, cidr)
    bridged = await asyncio.to_thread(ensure_knobs, ranges)
    rules = [outbound_ruleset(cidr, inside[f], bridged=bridged) for f, cidr in ranges.items()]
    await run(["nft", "-f", "-"], stdin="".join(rules).encode())
    conf = linux_conflist(ranges.values(), data_dir)
    if await asyncio.to_thread(write_conf, conf_dir, LINUX_CONF, conf):
        log.info("pod network ready", extra={"pod_cidrs": list(map(str, ranges.values()))})


async def _drop_foreign_bridge(family: Family, pod_cidr: Network) -> None:
    """Remove a bridge with another range's address: the CNI plugin refuses to work with it."""
    listing = ["ip", f"-{family.version}", "-json", "address", "show", "scope", "global"]
    rows = json.loads(await run(listing) or b"[]")
    for row in rows:
        found = {address.get("local") for address in row.get("addr_info") or ()}
        if row.get("ifname") == BRIDGE and found and str(pod_cidr[1]) not in found:
            log.warning("pod range changed, removing the bridge", extra={"addresses": found})
            await run(["ip", "link", "delete", BRIDGE])
