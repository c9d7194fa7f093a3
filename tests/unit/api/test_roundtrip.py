from typing import Any

from winkube.api.kinds import KINDS, Kind
from winkube.api.roundtrip import complete_status, round_trip
from winkube.api.schema import load_schema

SCHEMA = load_schema()


def kind(name: str, group: str = "") -> Kind:
    found = KINDS.by_gvk(group, "v1", name)
    assert found is not None
    return found


def tripped(name: str, obj: dict[str, Any], group: str = "") -> dict[str, Any]:
    round_trip(SCHEMA, kind(name, group), obj)
    return obj


def test_zeros_behind_no_pointer_are_left_out() -> None:
    spec = {"containers": [], "hostNetwork": False, "hostname": "", "hostUsers": False}
    made = tripped("Pod", {"spec": spec})
    assert made["spec"] == {"containers": None, "hostUsers": False}


def test_fields_that_are_always_written_have_their_zero() -> None:
    made = tripped("Node", {"metadata": {"name": "n"}})
    assert made["spec"] == {}
    assert made["status"]["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 0}}
    assert made["status"]["nodeInfo"]["kubeletVersion"] == ""


def test_times_that_nobody_set_are_null() -> None:
    made = tripped("Event", {"reason": "r"})
    assert (made["eventTime"], made["lastTimestamp"], made["source"]) == (None, None, {})


def test_unknown_fields_and_nulls_go() -> None:
    made = tripped("ConfigMap", {"metadata": {}, "data": None, "odd": 1, "binaryData": {}})
    assert made == {"metadata": {}}


def test_a_status_is_completed() -> None:
    obj: dict[str, Any] = {"metadata": {}, "status": {"phase": "Active"}}
    complete_status(SCHEMA, kind("Namespace"), obj)
    assert obj["status"] == {"phase": "Active"}
    obj = {"metadata": {}}
    complete_status(SCHEMA, kind("DaemonSet", "apps"), obj)
    assert obj["status"]["desiredNumberScheduled"] == 0
