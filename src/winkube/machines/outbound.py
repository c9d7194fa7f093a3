"""A way out for an underlay, on request: masquerade on the host, and forwarding switched on.

The way leads out of the machine, not into other clusters: what would go from this cluster's link to
another's is dropped.

The table is the record: the name of an empty chain in it keeps what the host's forwarding switch
was before the first cluster asked, so that the last one to leave can put it back.
"""

import json
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any, Final

from winkube.linux import nft
from winkube.linux.command import run

_SWITCH: Final = Path("/proc/sys/net/ipv4/ip_forward")
_PREFIX: Final = "winkube-out-"
_RECORD: Final = "forwarding-was-"
_LINKS: Final = "wk*"  # the host's ends of all clusters' cables


def _records() -> dict[str, str]:
    """What each cluster's table says the switch was."""
    listing: dict[str, Any] = json.loads(run(["nft", "-j", "list", "chains", "ip"]))
    chains = [item["chain"] for item in listing["nftables"] if "chain" in item]
    return {
        chain["table"]: chain["name"].removeprefix(_RECORD)
        for chain in chains
        if chain["table"].startswith(_PREFIX) and chain["name"].startswith(_RECORD)
    }


def _ruleset(name: str, subnet: IPv4Network, host_link: str, before: str) -> str:
    return f"""
add table ip {name}
delete table ip {name}
table ip {name} {{
  chain {_RECORD}{before} {{ }}
  chain postrouting {{
    type nat hook postrouting priority srcnat
    ip saddr {subnet} oifname != "{host_link}" masquerade
  }}
  chain forward {{
    type filter hook forward priority filter
    iifname "{host_link}" oifname != "{host_link}" oifname "{_LINKS}" drop
  }}
}}
"""


def ensure(cluster: str, subnet: IPv4Network, host_link: str) -> None:
    before = next(iter(_records().values()), _SWITCH.read_text().strip())
    nft.apply(_ruleset(_PREFIX + cluster, subnet, host_link, before))
    _SWITCH.write_text("1\n")


def remove(cluster: str) -> None:
    records = _records()
    name = _PREFIX + cluster
    if name not in records:
        return
    nft.delete_table("ip", name)
    if len(records) == 1:
        _SWITCH.write_text(f"{records[name]}\n")
