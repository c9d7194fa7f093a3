"""The hosts file a pod's containers get."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from winkube.base.types import JsonObject
from winkube.kubelet.pod import identity

LINUX_PATH: Final = "/etc/hosts"
WINDOWS_PATH: Final = r"C:\Windows\System32\drivers\etc\hosts"
_HEAD: Final = "# Kubernetes-managed hosts file.\n"
_HOST_HEAD: Final = "# Kubernetes-managed hosts file (host network).\n"
_LOCAL: Final = (
    "127.0.0.1\tlocalhost\n"
    "::1\tlocalhost ip6-localhost ip6-loopback\n"
    "fe00::0\tip6-localnet\n"
    "fe00::0\tip6-mcastprefix\n"
    "fe00::1\tip6-allnodes\n"
    "fe00::2\tip6-allrouters\n"
)


def to_hosts(ips: Sequence[str], hostname: str, domain: str, aliases: Sequence[JsonObject]) -> str:
    names = f"{hostname}.{domain}\t{hostname}" if domain else hostname
    own = "".join(f"{ip}\t{names}\n" for ip in ips)
    return _HEAD + _LOCAL + own + _to_aliases(aliases)


def to_host_network_hosts(host: str, aliases: Sequence[JsonObject]) -> str:
    return _HOST_HEAD + host + _to_aliases(aliases)


def _to_aliases(aliases: Sequence[JsonObject]) -> str:
    if not aliases:
        return ""
    lines = [f"{entry['ip']}\t" + "\t".join(entry.get("hostnames") or []) for entry in aliases]
    return "\n# Entries added by HostAliases.\n" + "\n".join(lines) + "\n"


def needs_hosts(pod: JsonObject, container: JsonObject, *, windows: bool) -> bool:
    """Not when the container mounts its own, and not for HostProcess pods."""
    path = WINDOWS_PATH if windows else LINUX_PATH
    own = {str(mount["mountPath"]).lower() for mount in container.get("volumeMounts") or []}
    if path.lower() in own:
        return False
    return not (windows and identity.is_host_process(pod))


def read_host_file() -> str:
    try:
        return Path(LINUX_PATH).read_text()
    except OSError:
        return _LOCAL
