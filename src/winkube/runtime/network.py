"""A pod's network: a namespace (Windows: a network compartment) and the endpoint CNI puts in it."""

from typing import Protocol

from winkube.linux import netns
from winkube.runtime.state import Sandbox


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
