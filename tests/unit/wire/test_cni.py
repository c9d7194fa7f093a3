import pytest

from winkube.wire.cni import CniError, fold, from_result, parse_error, to_error, to_result

RESULT = {
    "interfaces": [{"name": "abc_cbr0", "mac": "00-15-5D-00-10-01"}],
    "ips": [{"address": "10.244.1.3/24", "gateway": "10.244.1.2"}],
    "routes": [{"dst": "0.0.0.0/0"}],
    "dns": {"nameservers": ["10.96.0.10"], "search": []},
}


def test_current_results_keep_their_shape() -> None:
    shown = to_result(RESULT, "1.0.0")
    assert shown["ips"] == RESULT["ips"]
    assert shown["dns"] == {"nameservers": ["10.96.0.10"]}


def test_results_before_1_0_name_the_family() -> None:
    assert to_result(RESULT, "0.3.1")["ips"][0]["version"] == "4"


def test_results_before_0_3_have_one_address_per_family() -> None:
    assert to_result(RESULT, "0.2.0") == {
        "cniVersion": "0.2.0",
        "ip4": {"ip": "10.244.1.3/24", "gateway": "10.244.1.2", "routes": [{"dst": "0.0.0.0/0"}]},
        "dns": {"nameservers": ["10.96.0.10"]},
    }


@pytest.mark.parametrize("version", ["0.2.0", "0.3.1", "1.0.0"])
def test_any_version_is_read_back(version: str) -> None:
    again = from_result(to_result(RESULT, version))
    assert (again["ips"], again["routes"]) == (RESULT["ips"], RESULT["routes"])


def test_keys_bind_in_any_case() -> None:
    folded = fold({"POLICIES": [], "Other": 1, "nothing": None}, ("policies",))
    assert folded == {"policies": [], "Other": 1}


def test_errors_survive_the_wire() -> None:
    error = parse_error(to_error(CniError(7, "bad", "very"), "1.0.0"))
    assert (error.code, error.message, error.details) == (7, "bad", "very")
