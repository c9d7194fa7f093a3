from typing import Any

from tests.unit.proxy.scene import service_port

from winkube.proxy.family import IPV6
from winkube.proxy.ruleset import NOTHING, Book, remember_clients, render_port
from winkube.proxy.service import Backend

CIDR = "10.244.0.0/16"
ONE, TWO = Backend("10.244.1.2", 80, local=True), Backend("10.244.2.2", 80)


def verdicts(*backends: Backend, **changes: Any) -> dict[str, str]:
    rendering = render_port(service_port(*backends, **changes), CIDR)
    return {
        f"{where} {key}": verdict.split("-")[0]
        for (where, key), verdict in rendering.elements.items()
        if where != "cluster-ips"
    }


def test_each_front_end_is_an_element() -> None:
    assert verdicts(ONE, TWO, node_port=30080, external_ips=("192.0.2.1",)) == {
        "service-ips 10.96.0.7 . tcp . 80": "goto svc",
        "service-ips 192.0.2.1 . tcp . 80": "goto ext",
        "service-nodeports tcp . 30080": "goto ext",
    }


def test_without_backends_every_front_end_is_refused() -> None:
    assert verdicts(node_port=30080) == {
        "no-endpoint-ips 10.96.0.7 . tcp . 80": "goto refuse",
        "no-endpoint-nodeports tcp . 30080": "goto refuse",
    }


def test_without_local_backends_the_local_policy_is_silent_but_the_cluster_gets_through() -> None:
    assert verdicts(TWO, node_port=30080, external_local=True) == {
        "service-ips 10.96.0.7 . tcp . 80": "goto svc",
        "service-nodeports tcp . 30080": "goto ext",
        "no-endpoint-nodeports tcp . 30080": "goto discard",
    }
    assert verdicts(TWO, internal_local=True) == {
        "no-endpoint-ips 10.96.0.7 . tcp . 80": "goto discard"
    }


def test_a_port_that_did_not_change_gives_no_commands() -> None:
    book = Book()
    rendering = render_port(service_port(ONE, TWO), CIDR)
    assert book.update({"web": rendering})
    assert book.update({"web": render_port(service_port(ONE, TWO), CIDR)}) == []


def test_a_new_backend_adds_its_chain_and_rewrites_one_rule_chain() -> None:
    book = Book()
    book.update({"web": render_port(service_port(ONE), CIDR)})
    commands = book.update({"web": render_port(service_port(ONE, TWO), CIDR)})
    assert [c.split()[:2] for c in commands] == [
        ["add", "chain"],
        ["flush", "chain"],
        ["add", "rule"],
        ["add", "rule"],
        ["add", "rule"],
        ["add", "rule"],
    ]
    assert "numgen random mod 2 vmap" in " ".join(commands)


def test_what_is_removed_is_unhooked_before_it_is_deleted() -> None:
    book = Book()
    book.update({"web": render_port(service_port(ONE, affinity_seconds=60), CIDR)})
    verbs = [" ".join(c.split()[:2]) for c in book.update({"web": NOTHING})]
    assert verbs == sorted(
        verbs,
        key=["delete element", "flush chain", "delete chain", "delete set"].index,
    )
    assert not book.update({"web": NOTHING})


def test_sibling_ports_share_their_cluster_ip_until_the_last_one_goes() -> None:
    book = Book()
    http = render_port(service_port(ONE), CIDR)
    https = render_port(service_port(ONE, name="https", port=443), CIDR)
    book.update({"http": http, "https": https})
    gone = [c for c in book.update({"http": NOTHING}) if "cluster-ips" in c]
    last = [c for c in book.update({"https": NOTHING}) if "cluster-ips" in c]
    assert (len(gone), len(last)) == (0, 1)


def test_an_address_two_services_name_passes_to_the_second_when_the_first_goes() -> None:
    book = Book()
    first = render_port(service_port(ONE, external_ips=("192.0.2.1",)), CIDR)
    second_port = service_port(
        TWO, service="default/other", cluster_ip="10.96.0.8", external_ips=("192.0.2.1",)
    )
    second = render_port(second_port, CIDR)
    book.update({"first": first})
    assert not [c for c in book.update({"second": second}) if "192.0.2.1" in c]
    commands = [c for c in book.update({"first": NOTHING}) if "192.0.2.1" in c]
    assert [c.split()[0] for c in commands] == ["delete", "add"]


def test_clients_keep_their_backend_only_where_the_backend_stayed() -> None:
    rendering = render_port(service_port(ONE, affinity_seconds=60), CIDR)
    (name,) = rendering.affinity
    clients = {name: {"172.30.0.1": 30, "172.30.0.2": 90}, "aff-gone": {"172.30.0.3": 5}}
    assert remember_clients([rendering], clients) == [
        f"add element ip winkube-proxy {name} {{ 172.30.0.1 timeout 60s expires 30s }}"
    ]


def test_rules_of_the_other_family_speak_of_its_addresses_only() -> None:
    six = Backend("fd00:10:244:1::2", 8080)
    port = service_port(
        six, cluster_ip="fd00:10:96::7", node_port=30080, affinity_seconds=60, external_local=True
    )
    book = Book(IPV6)
    commands = book.update({"web": render_port(port, "fd00:10:244::/56")})
    text = "\n".join(commands)
    assert "dnat to [fd00:10:244:1::2]:8080" in text
    assert "{ fd00:10:96::7 . tcp . 80 : goto svc-" in text
    assert "type ipv6_addr" in text
    assert not [line for line in commands if " ip " in line]
