from winkube.api.node_address import kubelet_address
from winkube.base.types import JsonObject


def node(*addresses: tuple[str, str]) -> JsonObject:
    return {"status": {"addresses": [{"type": t, "address": a} for t, a in addresses]}}


def test_the_first_address_of_the_best_type_is_asked() -> None:
    both = (("InternalIP", "172.30.0.11"), ("InternalIP", "fd00:172:30::11"))
    assert kubelet_address(node(("Hostname", "lin-1"), *both)) == "172.30.0.11"
    assert kubelet_address(node(("ExternalIP", "192.0.2.1"), ("Hostname", "lin-1"))) == "lin-1"
    assert kubelet_address(node()) == ""
