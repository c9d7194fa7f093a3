"""The pod network of a Linux node: kernel knobs, outbound translation, bridge configuration."""

import asyncio
import json
import logging
from ipaddress import IPv4Network
from pathlib import Path
from typing import Final

from winkube.aio.command import run
from winkube.proxy.cniconf import BRIDGE, LINUX_CONF, linux_conflist, write_conf

TABLE: Final = "winkube-pods"
_KNOBS: Final = Path("/proc/sys/net")
_BRIDGE_KNOB: Final = _KNOBS / "bridge/bridge-nf-call-iptables"
log = logging.getLogger(__name__)


def outbound_ruleset(pod_cidr: IPv4Network, inside: tuple[str, ...], *, bridged: bool) -> str:
    """Pods leave the cluster with the node's address; inside it they keep their own.

    ``bridged``: bridge traffic passes netfilter. Where it does not, a pod answers its neighbour
    straight over the bridge and the answer misses the translation back from the service address;
    then those connections have to go through the node in both directions.
    """
    neighbours = "" if bridged else f"ct status dnat ip daddr {pod_cidr} masquerade"
    return f"""
add table ip {TABLE}
delete table ip {TABLE}
table ip {TABLE} {{
  chain postrouting {{
    type nat hook postrouting priority srcnat + 10
    ip saddr != {pod_cidr} return
    {neighbours}
    ip daddr != {{ {", ".join(inside)}, 224.0.0.0/4 }} masquerade fully-random
  }}
}}
"""


def ensure_knobs() -> bool:
    """Forward packets, and show bridged ones to netfilter; False where the kernel cannot."""
    (_KNOBS / "ipv4/ip_forward").write_text("1\n")
    if not _BRIDGE_KNOB.exists():
        log.warning("no bridge netfilter, connections between neighbour pods are masqueraded")
        return False
    _BRIDGE_KNOB.write_text("1\n")
    return True


async def ensure_linux_network(
    pod_cidr: IPv4Network, inside: tuple[str, ...], conf_dir: Path, data_dir: Path
) -> None:
    await _drop_foreign_bridge(pod_cidr)
    bridged = await asyncio.to_thread(ensure_knobs)
    rules = outbound_ruleset(pod_cidr, inside, bridged=bridged)
    await run(["nft", "-f", "-"], stdin=rules.encode())
    if await asyncio.to_thread(
        write_conf, conf_dir, LINUX_CONF, linux_conflist(pod_cidr, data_dir)
    ):
        log.info("pod network ready", extra={"pod_cidr": str(pod_cidr)})


async def _drop_foreign_bridge(pod_cidr: IPv4Network) -> None:
    """Remove a bridge with another range's address: the CNI plugin refuses to work with it."""
    rows = json.loads(await run(["ip", "-4", "-json", "address", "show"]) or b"[]")
    for row in rows:
        found = {address.get("local") for address in row.get("addr_info") or ()}
        if row.get("ifname") == BRIDGE and found and str(pod_cidr[1]) not in found:
            log.warning("pod range changed, removing the bridge", extra={"addresses": found})
            await run(["ip", "link", "delete", BRIDGE])
