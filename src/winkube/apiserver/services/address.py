"""Cluster addresses: numbers in the ranges of services, taken and given back in memory.

The objects themselves are the record: at start the pool is filled from them. One server owns the
range, and it takes and writes in one process, so two requests never get the same number.
"""

import random
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from winkube.api.addresses import Network, regular

# The lower part of the range is for those who choose: dynamic addresses come from above it
# (KEP-3070: min(max(16, size/16), 256)).
_SMALLEST_BAND: Final = 16
_LARGEST_BAND: Final = 256


_KINDS: Final = {"IPv4": IPv4Address, "IPv6": IPv6Address}


class Pool:
    """Numbers from ``low`` to ``high``, each held at most once."""

    def __init__(self, low: int, high: int, *, band: int = 0, seed: int | None = None) -> None:
        self._low, self._high = low, high
        self._band = band
        self._taken: set[int] = set()
        self._random = random.Random(seed)

    def part(self, low: int, high: int, *, band: int = 0) -> "Pool":
        """Some of the numbers: what is taken here is taken there, and the other way round."""
        part = Pool(low, high, band=band)
        part._taken = self._taken
        return part

    def __contains__(self, number: int) -> bool:
        return self._low <= number <= self._high

    @property
    def free(self) -> int:
        return self._high - self._low + 1 - len(self._taken)

    def is_taken(self, number: int) -> bool:
        return number in self._taken

    def take(self, number: int) -> bool:
        """False when somebody has it."""
        if self.is_taken(number):
            return False
        self._taken.add(number)
        return True

    def take_any(self) -> int | None:
        """A random free number, above the band while there is one; None when all are taken."""
        for low, high in ((self._low + self._band, self._high), (self._low, self._high)):
            found = self._search(low, high)
            if found is not None:
                self._taken.add(found)
                return found
        return None

    def _search(self, low: int, high: int) -> int | None:
        size = high - low + 1
        if size <= 0:
            return None
        start = self._random.randrange(size)
        for step in range(size):
            number = low + (start + step) % size
            if number not in self._taken:
                return number
        return None

    def give_back(self, number: int) -> None:
        self._taken.discard(number)


Held = tuple[Pool, int]


class Addresses:
    """Who holds which address, by family, and the ranges that new ones come from.

    The first family is what a service gets that asks for none. Ranges come and go, and may lie in
    one another; what is held is held in all of them.
    """

    def __init__(self, own: Sequence[Network]) -> None:
        self.families = tuple(f"IPv{network.version}" for network in own)
        self._held = {
            f"IPv{network.version}": Pool(0, (1 << network.max_prefixlen) - 1) for network in own
        }
        self._offered: Sequence[Network] = ()
        self._parts: dict[str, list[tuple[Network, Pool]]] = {}
        self.offer(own)

    def offer(self, networks: Sequence[Network]) -> None:
        """From now on new addresses come from these."""
        if networks is self._offered:
            return
        self._offered = networks
        self._parts = {family: [] for family in self.families}
        for network in networks:
            family = f"IPv{network.version}"
            if family in self._held:
                self._parts[family].append((network, _part(self._held[family], network)))

    def ranges(self, family: str) -> list[Network]:
        return [network for network, _ in self._parts[family]]

    def take_any(self, family: str) -> tuple[Held, str] | None:
        """An address and how to give it back; None when all are taken."""
        for _, part in self._parts[family]:
            number = part.take_any()
            if number is not None:
                return (part, number), str(_KINDS[family](number))
        return None

    def find(self, address: object) -> Held | None:
        """Where an address is held; None for one of a family that is not ours."""
        found = regular(address)
        if found is None or found[0] not in self._held:
            return None
        return self._held[found[0]], int(_KINDS[found[0]](found[1]))

    def is_offered(self, family: str, number: int) -> bool:
        return any(number in part for _, part in self._parts[family])


def _part(held: Pool, network: Network) -> Pool:
    """Without the network's own address, nor the one that reaches all, which IPv6 has not."""
    first = int(network.network_address) + 1
    last = int(network.broadcast_address) - (network.version == 4)
    band = min(max(_SMALLEST_BAND, network.num_addresses // 16), _LARGEST_BAND)
    return held.part(first, last, band=band if last - first > 2 * band else 0)


def port_pool(low: int, high: int) -> Pool:
    size = high - low + 1
    # KEP-3668: min(max(16, size/32), 128)
    band = min(max(16, size // 32), 128)
    return Pool(low, high, band=band if size > 2 * band else 0)
