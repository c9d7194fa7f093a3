"""What an HNS service is told about its host."""

from dataclasses import dataclass
from pathlib import Path

from winkube.facts.hns import Feature, HnsVersion, supports


@dataclass(frozen=True, slots=True)
class HnsConfig:
    socket: Path
    state_dir: Path
    version: HnsVersion
    management_ip: str
    uplink: str = "eth0"
    netns_prefix: str = "hns-"
    adapter: str = "Ethernet"  # what Windows calls the uplink
    # The host's IPv6 address; without one, or with an HNS too old, there is IPv4 alone.
    second_ip: str = ""
    # Load balancers without DSR take 64 ephemeral TCP ports each on Windows, and run out of them.
    ephemeral_port_blocks: int | None = None
    # Seconds until a new network shows its management address; flannel polls for it.
    management_ip_delay: float = 0.0

    @property
    def dual(self) -> bool:
        return bool(self.second_ip) and supports(self.version, Feature.DUAL_STACK)
