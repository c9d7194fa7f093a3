from ipaddress import IPv4Address
from pathlib import Path

from winkube.hns.acl import plan_acls
from winkube.hns.config import HnsConfig
from winkube.hns.dataplane.family import IPV4
from winkube.hns.dataplane.rules import (
    Frontend,
    RuleBook,
    Spread,
    rules_for_endpoint,
    rules_for_frontend,
    stale_flows,
)
from winkube.hns.dataplane.types import Element, Rules
from winkube.hns.policy import plan_encapsulated, plan_outbound_nat
from winkube.linux.conntrack import Pattern

CONFIG = HnsConfig(Path("/s"), Path("/d"), (9, 5), "172.30.0.11")
POD = IPv4Address("10.244.1.5")


def balanced(*backends: str, protocol: int = 6, vip: str = "10.96.0.1") -> Rules:
    targets = [(address, 80) for address in backends]
    frontend = Frontend(vip, protocol, 53)
    return rules_for_frontend(frontend, targets, distribution=0, dsr=False)


def test_a_frontend_without_backends_is_not_there() -> None:
    assert balanced() == Rules()


def test_pods_with_equal_policies_share_chains() -> None:
    nat = plan_outbound_nat([{"Type": "OutBoundNAT", "Settings": {"Exceptions": ["10.0.0.0/8"]}}])
    first = rules_for_endpoint(POD, nat, (), (), (), CONFIG)
    second = rules_for_endpoint(POD + 1, nat, (), (), (), CONFIG)
    assert first.chains == second.chains
    assert first.elements.isdisjoint(second.elements)


def test_outbound_nat_policies_add_up() -> None:
    nat = plan_outbound_nat(
        [
            {"Type": "OutBoundNAT", "Settings": {"Exceptions": ["10.0.0.0/8", "10.1.0.0/16"]}},
            {"Type": "OutBoundNAT", "Settings": {"Destinations": ["10.244.1.5"]}},
        ]
    )
    assert nat is not None
    assert (nat.general, nat.exceptions) == (True, ("10.0.0.0/8",))
    rules = rules_for_endpoint(POD, nat, (), (), (), CONFIG)
    [chain] = [chain for chain in rules.chains if chain.name.startswith("nat-")]
    assert [rule.split(" snat")[0] for rule in chain.rules] == [
        "ip daddr { 10.244.1.5/32 } meta l4proto { tcp, udp, sctp }",
        "ip daddr { 10.0.0.0/8 } return",
        'oifname "eth0" meta l4proto { tcp, udp, sctp }',
    ]


def test_destinations_alone_do_not_hide_the_pod() -> None:
    nat = plan_outbound_nat([{"Type": "OutBoundNAT", "Settings": {"Destinations": ["10.1.1.1"]}}])
    rules = rules_for_endpoint(POD, nat, (), (), (), CONFIG)
    assert not any(item.set_name == "outbound-icmp" for item in rules.elements)


def test_acls_apply_in_order_of_priority() -> None:
    rows = [
        {"Action": "Block", "Direction": "Out", "Priority": 300},
        {
            "Action": "Allow",
            "Direction": "Out",
            "Priority": 100,
            "RemotePorts": "53,8000-8010",
            "RemoteAddresses": "10.96.0.10",
            "Protocols": "17",
        },
    ]
    acls = plan_acls([{"Type": "ACL", "Settings": row} for row in rows])
    rules = rules_for_endpoint(POD, None, (), acls, (), CONFIG)
    [chain] = rules.chains
    assert chain.rules == (
        "meta l4proto { 17 } ip daddr { 10.96.0.10/32 } th dport { 53, 8000-8010 } return",
        "drop",
    )


def test_the_service_range_does_not_leave_the_node() -> None:
    policies = [
        {"Type": "SDNRoute", "Settings": {"DestinationPrefix": "10.96.0.0/12", "NeedEncap": True}},
        {"Type": "SDNRoute", "Settings": {"DestinationPrefix": "10.1.0.0/16"}},
    ]
    rules = rules_for_endpoint(POD, None, (), (), plan_encapsulated(policies), CONFIG)
    [chain] = rules.chains
    assert chain.rules == ('ip daddr { 10.96.0.0/12 } oifname "eth0" drop',)


def test_shared_elements_go_with_their_last_owner() -> None:
    book = RuleBook()
    first = book.replace("a", balanced("10.244.1.5"))
    assert first.index("add chain") < first.index("add element")
    second = book.replace("b", balanced("10.244.1.5", vip="10.96.0.2"))
    assert "add chain" not in second
    assert "delete chain" not in book.replace("a", Rules())
    last = book.replace("b", Rules())
    assert last.index("delete element") < last.index("delete chain")
    assert book.everything() == ""


def test_an_equal_replacement_changes_nothing() -> None:
    book = RuleBook()
    book.replace("a", balanced("10.244.1.5"))
    assert book.replace("a", balanced("10.244.1.5")) == ""


def test_a_changed_target_is_deleted_before_it_is_added() -> None:
    book = RuleBook()
    book.replace("a", balanced("10.244.1.5"))
    lines = book.replace("a", balanced("10.244.1.6")).splitlines()
    assert [line.split()[0] for line in lines] == ["delete", "add"]


def test_udp_flows_to_leaving_backends_and_past_new_frontends_are_stale() -> None:
    one, two = balanced("10.244.1.5", protocol=17), balanced("10.244.1.6", protocol=17)
    assert stale_flows(Rules(), one, CONFIG) == [Pattern(53, "10.96.0.1", target="10.96.0.1")]
    assert stale_flows(one, two, CONFIG) == [Pattern(53, "10.244.1.5", target="10.96.0.1")]
    assert stale_flows(balanced("10.244.1.5"), Rules(), CONFIG) == []


def test_spreads_by_source_hash_the_source() -> None:
    assert Spread(3, 2, dsr=False).chain(IPV4, nodeport=False).rules[0] == (
        "meta mark set jhash ip saddr mod 3 offset 0x57000000"
    )
    assert Element("a", "b") < Element("a", "c")
