import pytest

from winkube.cni import endpoint_policy
from winkube.cni.skel import Call
from winkube.cni.win_bridge import _dns, endpoint_name, to_gateway


@pytest.mark.parametrize(
    ("netns", "expected"),
    [
        ("none", "abc_cbr0"),
        ("", "abc_cbr0"),
        ("B1062982-2B18-4B4F-B3D5-A78DDB9CDD49", "abc_cbr0"),
        ("container:infra", "infra_cbr0"),
    ],
)
def test_endpoints_are_named_after_the_sandbox(netns: str, expected: str) -> None:
    environ = {"CNI_CONTAINERID": "abc", "CNI_NETNS": netns}
    assert endpoint_name(Call(environ, {"name": "cbr0"})) == expected


@pytest.mark.parametrize(
    ("address", "gateway"),
    [("10.244.1.7/24", "10.244.1.2"), ("10.10.187.70/26", "10.10.187.66")],
)
def test_the_gateway_is_the_second_address(address: str, gateway: str) -> None:
    assert to_gateway(address)[1] == gateway


def test_runtime_dns_replaces_lists_but_not_domain_and_options() -> None:
    conf = {
        "dns": {"Nameservers": ["1.1.1.1"], "search": ["a"], "domain": "d", "options": ["x"]},
        "runtimeConfig": {"dns": {"servers": ["10.96.0.10"], "searches": [], "options": ["y"]}},
    }
    assert _dns(conf) == {
        "nameservers": ["10.96.0.10"],
        "search": ["a"],
        "domain": "d",
        "options": ["x"],
    }


def test_only_endpoint_policies_are_taken() -> None:
    nat = {"Type": "OutBoundNAT"}
    items = [{"Name": "ENDPOINTPOLICY", "Value": nat}, {"name": "NetworkPolicy", "value": {}}]
    assert endpoint_policy.configured({"policies": items}) == [nat]


@pytest.mark.parametrize("v2", [True, False])
def test_helpers_append_unless_the_fact_stands_already(v2: bool) -> None:
    policies: list[dict[str, object]] = []
    for _ in range(2):
        endpoint_policy.add_masquerade(policies, "10.244.0.0/16", v2=v2)
        endpoint_policy.add_loopback_dsr(policies, "10.244.1.5", v2=v2)
    assert len(policies) == 2


def test_port_mappings_of_unknown_protocols_are_skipped() -> None:
    policies: list[dict[str, object]] = []
    rows = [
        {"hostPort": 80, "containerPort": 8080, "protocol": "tcp"},
        {"hostPort": 81, "containerPort": 8080, "protocol": "carrot"},
        {"hostPort": 0, "containerPort": 8080, "protocol": "udp"},
    ]
    endpoint_policy.add_port_mappings(policies, rows, v2=True)
    settings = {"Protocol": 6, "InternalPort": 8080, "ExternalPort": 80, "VIP": ""}
    assert policies == [{"Type": "PortMapping", "Settings": settings}]
