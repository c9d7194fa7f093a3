"""A pod's network: a namespace (Windows: a network compartment) and the endpoint CNI puts in it."""

import logging
from pathlib import Path
from typing import Any, Final, Protocol

from winkube.hns.aclient import AsyncHnsClient
from winkube.linux import netns
from winkube.runtime.cni import Attachment, Cni, CniError, addresses_of, load_network, parse_network
from winkube.runtime.config import RuntimeConfig
from winkube.runtime.state import Sandbox

log = logging.getLogger(__name__)

_PROTOCOLS: Final = ("tcp", "udp", "sctp")


class PodNetwork(Protocol):
    async def attach(self, sandbox: Sandbox) -> None:
        """Make the namespace and connect it; fills in the sandbox's network fields."""
        ...

    async def detach(self, sandbox: Sandbox) -> None:
        """Undo ``attach``, also half of it; repeating it is fine."""
        ...

    async def problem(self) -> str:
        """Why pods cannot have a network now; empty when they can."""
        ...

    async def close(self) -> None: ...


class LoopbackNetwork:
    """A namespace with nothing but loopback, for a runtime without a Host Networking Service."""

    def _netns(self, sandbox: Sandbox) -> str:
        return f"wkp-{sandbox.id[:12]}"

    async def attach(self, sandbox: Sandbox) -> None:
        sandbox.netns = str(netns.create_netns(self._netns(sandbox)))
        sandbox.ips = ["127.0.0.1"]

    async def detach(self, sandbox: Sandbox) -> None:
        netns.delete_netns(self._netns(sandbox))

    async def problem(self) -> str:
        return ""

    async def close(self) -> None:
        return


class HnsNetwork:
    """Namespaces of the Host Networking Service, connected by CNI plugins.

    The configuration a pod was connected with is kept beside its record: DEL has to see the same
    one, whatever has been installed since.
    """

    def __init__(self, config: RuntimeConfig, hns_socket: Path) -> None:
        self._config = config
        self._cni = Cni(config.cni_bin_dir)
        self._hns = AsyncHnsClient(hns_socket)

    def _kept(self, sandbox: Sandbox) -> Path:
        return self._config.sandboxes / sandbox.id / "cni.json"

    async def attach(self, sandbox: Sandbox) -> None:
        network = load_network(self._config.cni_conf_dir)
        self._cni.check(network)
        document = await self._hns.create("Namespace", {"Type": "Host"}, sandbox.namespace_id)
        sandbox.netns = document["AdditionalParams"]["netns"]
        self._kept(sandbox).write_text(network.to_json())
        try:
            result = await self._cni.add(network, to_attachment(sandbox))
        except CniError as error:
            raise CniError(
                f'failed to setup network for sandbox "{sandbox.id}": {error}'
            ) from error
        sandbox.ips = addresses_of(result)

    async def detach(self, sandbox: Sandbox) -> None:
        kept = self._kept(sandbox)
        if kept.exists():
            network = parse_network(kept.read_text())
            await self._cni.delete(network, to_attachment(sandbox))
            kept.unlink(missing_ok=True)
        await self._hns.delete("Namespace", sandbox.namespace_id)

    async def problem(self) -> str:
        try:
            self._cni.check(load_network(self._config.cni_conf_dir))
        except CniError as error:
            return str(error)
        return ""

    async def close(self) -> None:
        await self._hns.close()


def make_network(config: RuntimeConfig) -> PodNetwork:
    if config.hns_socket is None:
        return LoopbackNetwork()
    return HnsNetwork(config, config.hns_socket)


def to_attachment(sandbox: Sandbox) -> Attachment:
    config = sandbox.config
    meta = config.metadata
    return Attachment(
        container_id=sandbox.id,
        netns=sandbox.namespace_id,
        args={
            "IgnoreUnknown": "1",
            "K8S_POD_NAMESPACE": meta.namespace,
            "K8S_POD_NAME": meta.name,
            "K8S_POD_INFRA_CONTAINER_ID": sandbox.id,
            "K8S_POD_UID": meta.uid,
        },
        capabilities=_capabilities(config),
    )


def _capabilities(config: Any) -> dict[str, Any]:
    dns = config.dns_config
    found: dict[str, Any] = {
        "dns": {
            "servers": list(dns.servers),
            "searches": list(dns.searches),
            "options": list(dns.options),
        }
    }
    ports = [
        {
            "hostPort": port.host_port,
            "containerPort": port.container_port,
            "protocol": _PROTOCOLS[port.protocol],
            "hostIP": port.host_ip,
        }
        for port in config.port_mappings
        if port.host_port > 0
    ]
    if ports:
        found["portMappings"] = ports
    return found
