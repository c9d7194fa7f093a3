"""Simulated nodes of a cluster: how many, what they are called, how one changes their number."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from winkube.api.simulation import ROLE
from winkube.cluster.errors import SpecError

if TYPE_CHECKING:
    from winkube.kubelet.simulated.node import NodeSpec

SIMULATED: Final = "simulated-nodes"  # the process and its identity
SIMULATED_USER: Final = "winkube:simulated-nodes"
MAX_NODES: Final = 5000
# Addresses and pod ranges go by number: those of Windows nodes stay when Linux nodes come or go.
_FIRST_WINDOWS: Final = 8192
# Real workloads stay away: on a simulated node nothing would answer.
TAINT: Final = {"key": ROLE, "effect": "NoSchedule"}


@dataclass(frozen=True, slots=True)
class Simulation:
    linux: int = 0
    windows: int = 0
    windows_version: str = "ltsc2019"

    @property
    def count(self) -> int:
        return self.linux + self.windows

    @property
    def names(self) -> list[str]:
        linux = [f"sim-lin-{number}" for number in range(1, self.linux + 1)]
        return linux + [f"sim-win-{number}" for number in range(1, self.windows + 1)]


NO_SIMULATION: Final = Simulation()


def plan_simulation(count: int, windows: int, windows_version: str) -> Simulation:
    """``count`` nodes, of which so many run Windows."""
    if not 0 <= count <= MAX_NODES:
        raise SpecError("--simulated", f"must be a number from 0 to {MAX_NODES}, not {count}")
    if not 0 <= windows <= count:
        problem = f"must be a number from 0 to {count}, which --simulated says, not {windows}"
        raise SpecError("--simulated-windows", problem)
    return Simulation(count - windows, windows, windows_version)


def node_specs(simulation: Simulation, kube_version: str) -> "list[NodeSpec]":
    from winkube.kubelet.simulated.node import NodeSpec

    def spec(name: str) -> NodeSpec:
        kind, number = name.removeprefix("sim-").split("-")
        windows = kind == "win"
        return NodeSpec(
            name=name,
            windows=simulation.windows_version if windows else "",
            labels={ROLE: ""},
            taints=(TAINT,),
            number=int(number) - 1 + (_FIRST_WINDOWS if windows else 0),
            own_range=True,
            kube_version=kube_version,
        )

    return [spec(name) for name in simulation.names]
