"""What makes a node's namespace look like a Windows host to the network programs in it.

Windows knows the uplink as the adapter ``Ethernet``; once the first external HNS network exists,
its address lives on ``vEthernet (Ethernet)``. In the kernel both are ``eth0``.
"""

from typing import Final

from winkube.linux import link

ADAPTER: Final = "Ethernet"
UPLINK: Final = "eth0"
_SYSCTLS: Final = {
    # kube-proxy and flannel switch on forwarding by netsh; HNS pods cannot leave without it.
    f"net.ipv4.conf.{UPLINK}.forwarding": 1,
    f"net.ipv4.conf.{UPLINK}.send_redirects": 0,
    f"net.ipv4.conf.{UPLINK}.rp_filter": 0,
    # Windows answers for an address only on the card that has it.
    "net.ipv4.conf.all.arp_ignore": 1,
    "net.ipv4.conf.all.arp_announce": 2,
}


def ensure_windows_host(netns: str) -> None:
    """Idempotent: the adapter's Windows name as an alternative name, and the host's switches."""
    row = link.links(netns)[UPLINK]
    if ADAPTER not in row.get("altnames", ()):
        link.batch([f"link property add dev {UPLINK} altname {ADAPTER}"], netns=netns)
    link.set_sysctls(_SYSCTLS, netns=netns)
