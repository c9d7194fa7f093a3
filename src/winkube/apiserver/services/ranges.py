"""The ranges that cluster addresses come from, as ServiceCIDR objects say."""

from winkube.api.addresses import WIDEST_V6, Network, parse_network
from winkube.api.meta import is_condition_true, is_deleting
from winkube.apiserver.item import Item
from winkube.apiserver.served import Served


class Ranges:
    """Read anew when one of the objects has changed; who asks twice gets the same tuple."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._read: list[Item] = []
        self._networks: tuple[Network, ...] = ()

    def networks(self) -> tuple[Network, ...]:
        items = list(self._served.cache.items())
        if [*map(id, items)] != [*map(id, self._read)]:
            self._networks = tuple(network for item in items for network in _networks(item))
            self._read = items
        return self._networks


def _networks(item: Item) -> list[Network]:
    """None of a range that is not ready, or is about to go."""
    obj = item.load()
    if is_deleting(obj) or not is_condition_true(obj, "Ready"):
        return []
    parsed = (parse_network(text) for text in obj["spec"].get("cidrs") or ())
    networks = [each[1] for each in parsed if each is not None]
    return [each for each in networks if each.version == 4 or each.prefixlen >= WIDEST_V6]
