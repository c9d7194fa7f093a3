"""Which Windows an emulated host says it is; everything version-dependent asks here.

Builds and labels: kubernetes.io Windows compatibility table; the host/image rule is hcsshim's
``osversion.CheckHostAndContainerCompat`` for process isolation.
"""

from dataclasses import dataclass
from typing import Final

from winkube.base.errors import WinkubeError

WS2022, WS2025 = 20348, 26100


class UnknownPersonalityError(WinkubeError):
    def __init__(self, key: str) -> None:
        super().__init__(
            f"unknown Windows version {key!r}: choose one of {', '.join(sorted(PERSONALITIES))}"
        )


@dataclass(frozen=True, slots=True)
class Personality:
    key: str  # the tag Microsoft's images carry
    product_name: str
    build: int
    revision: int
    hns_version: tuple[int, int]
    release_id: str

    @property
    def windows_build(self) -> str:
        """The value of node.kubernetes.io/windows-build."""
        return f"10.0.{self.build}"

    @property
    def kernel_version(self) -> str:
        return f"10.0.{self.build}.{self.revision}"

    def runs_image_build(self, image_build: int) -> bool:
        """Whether process isolation starts an image of this build on this host."""
        if self.build <= WS2022:
            return image_build == self.build
        oldest = WS2022 if self.build <= WS2025 else WS2025
        return oldest <= image_build <= self.build


PERSONALITIES: Final[dict[str, Personality]] = {
    p.key: p
    for p in (
        Personality("1709", "Windows Server Datacenter", 16299, 2045, (7, 1), "1709"),
        Personality("1803", "Windows Server Datacenter", 17134, 2208, (7, 2), "1803"),
        Personality("ltsc2019", "Windows Server 2019 Datacenter", 17763, 6893, (9, 5), "1809"),
        Personality("ltsc2022", "Windows Server 2022 Datacenter", 20348, 3207, (13, 3), "21H2"),
        Personality("ltsc2025", "Windows Server 2025 Datacenter", 26100, 3194, (15, 5), "24H2"),
    )
}


def find_personality(key: str) -> Personality:
    try:
        return PERSONALITIES[key]
    except KeyError:
        raise UnknownPersonalityError(key) from None
