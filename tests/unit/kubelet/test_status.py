"""Pod and node status as pure functions."""

import base64
import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest

from winkube.base.types import JsonObject
from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.image import default_policy, find_credentials, registry_of, with_tag
from winkube.kubelet.node.machine import MachineFacts
from winkube.kubelet.node.reporter import to_status_patch
from winkube.kubelet.node.status import (
    Pressure,
    RuntimeHealth,
    allocatable,
    capacity,
    conditions,
    node_status,
)
from winkube.kubelet.pleg import changed_pods
from winkube.kubelet.pod.backoff import Backoffs, to_duration
from winkube.kubelet.pod.containerstatus import Inputs
from winkube.kubelet.pod.state import Container, Phase, PodState, Sandbox
from winkube.kubelet.pod.status import Surroundings, to_status
from winkube.kubelet.spec.fields import NodeFacts, field_value

Pods = Callable[..., JsonObject]
NOW = 1_600_000_000.0
MACHINE = MachineFacts(8, 16 << 30, 100 << 30, "amd64", "boot", "6.1", "Debian")


def _status(pod: JsonObject, *containers: Container, **more: Any) -> JsonObject:
    box = Sandbox("s", ready=True, ips=("10.0.0.9",))
    inputs = Inputs(PodState((box,), containers), **more)
    return to_status(pod, inputs, Surroundings(("192.0.2.1", "fd00::1"), NOW))


def _record(name: str, phase: Phase, code: int = 0) -> Container:
    return Container(f"id-{name}", name, "s", phase, exit_code=code, finished_at=NOW)


@pytest.mark.parametrize(
    ("policy", "states", "phase"),
    [
        ("Always", {"a": Phase.RUNNING, "b": Phase.RUNNING}, "Running"),
        ("Always", {"a": Phase.RUNNING}, "Pending"),
        ("Always", {"a": Phase.RUNNING, "b": 0}, "Running"),
        ("Always", {"a": 0, "b": 0}, "Running"),
        ("Never", {"a": 0, "b": 0}, "Succeeded"),
        ("Never", {"a": 0, "b": 1}, "Failed"),
        ("Never", {"a": Phase.RUNNING, "b": 1}, "Running"),
        ("OnFailure", {"a": 0, "b": 1}, "Running"),
        ("OnFailure", {"a": 0, "b": 0}, "Succeeded"),
    ],
)
def test_phases(pod_of: Pods, policy: str, states: dict[str, Any], phase: str) -> None:
    pod = pod_of(containers=[{"name": "a"}, {"name": "b"}], restartPolicy=policy)
    records = [
        _record(name, state) if isinstance(state, Phase) else _record(name, Phase.EXITED, state)
        for name, state in states.items()
    ]
    assert _status(pod, *records)["phase"] == phase


def test_a_deleted_pod_whose_containers_ended_well_has_succeeded(pod_of: Pods) -> None:
    status = _status(pod_of(), _record("main", Phase.EXITED), terminal=True)
    assert status["phase"] == "Succeeded"
    failed = _status(pod_of(), _record("main", Phase.EXITED, 143), terminal=True)
    assert failed["phase"] == "Failed"


def test_unready_containers_are_named(pod_of: Pods) -> None:
    pod = pod_of(containers=[{"name": "a"}, {"name": "b"}])
    records = [_record(name, Phase.RUNNING) for name in ("a", "b")]
    status = _status(pod, *records, ready={"id-a"}, started={"id-a", "id-b"})
    ready = next(entry for entry in status["conditions"] if entry["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "ContainersNotReady")
    assert ready["message"] == "containers with unready status: [b]"


def test_transition_times_move_only_with_the_status(pod_of: Pods) -> None:
    pod = pod_of()
    old = {"type": "Initialized", "status": "True", "lastTransitionTime": "2001-01-01T00:00:00Z"}
    pod["status"] = {"conditions": [old, {"type": "mine", "status": "Unknown"}]}
    found = {entry["type"]: entry for entry in _status(pod)["conditions"]}
    assert found["Initialized"]["lastTransitionTime"] == "2001-01-01T00:00:00Z"
    assert found["Ready"]["lastTransitionTime"] == "2020-09-13T12:26:40Z"
    assert found["mine"] == {"type": "mine", "status": "Unknown"}


def test_host_network_pods_have_the_addresses_of_the_node(pod_of: Pods) -> None:
    both = [{"ip": "192.0.2.1"}, {"ip": "fd00::1"}]
    status = _status(pod_of(hostNetwork=True))
    assert (status["podIP"], status["podIPs"]) == ("192.0.2.1", both)
    assert (status["hostIP"], status["hostIPs"]) == ("192.0.2.1", both)


def test_a_node_of_two_families_reports_both_addresses(
    config_of: Callable[[str], KubeletConfig],
) -> None:
    config = dataclasses.replace(config_of("linux"), second_ip="fd00:172:30::11")
    status = node_status(config, MACHINE, RuntimeHealth(), conditions=[], images=[])
    internal = [a["address"] for a in status["addresses"] if a["type"] == "InternalIP"]
    assert internal == ["172.30.0.11", "fd00:172:30::11"]


def test_two_addresses_of_one_type_replace_what_the_api_has() -> None:
    one, two = ({"type": "InternalIP", "address": ip} for ip in ("192.0.2.1", "fd00::1"))
    name = {"type": "Hostname", "address": "lin-1"}
    assert to_status_patch({"addresses": [one, name]}) == {"addresses": [one, name]}
    patch = to_status_patch({"addresses": [one, two, name]})
    assert patch == {"addresses": [one, two, name, {"$patch": "replace"}]}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("status.hostIP", "192.0.2.1"),
        ("status.hostIPs", "192.0.2.1,fd00::1"),
        ("status.podIP", "10.0.0.9"),
        ("status.podIPs", "10.0.0.9,fd00::9"),
    ],
)
def test_containers_are_told_addresses_of_both_families(
    pod_of: Pods, path: str, value: str
) -> None:
    facts = NodeFacts("lin-1", ("192.0.2.1", "fd00::1"), {})
    assert field_value(pod_of(), path, facts, ("10.0.0.9", "fd00::9")) == value


def test_back_off_doubles_to_a_limit_and_is_forgotten_after_a_quiet_time() -> None:
    backoffs = Backoffs()
    waits = []
    now = 0.0
    for _ in range(7):
        waits.append(backoffs.wait("k", now, now))
        backoffs.advance("k", now, now)
        now += 1
    assert waits == [0, 10, 20, 40, 80, 160, 300]
    assert backoffs.wait("k", now + 700, now + 700) == 0


@pytest.mark.parametrize(("seconds", "text"), [(10, "10s"), (80, "1m20s"), (300, "5m0s")])
def test_durations_look_like_go(seconds: float, text: str) -> None:
    assert to_duration(seconds) == text


def test_windows_keeps_more_memory_back(config_of: Callable[[str], KubeletConfig]) -> None:
    linux, windows = config_of("linux"), config_of("windows")
    assert capacity(windows, MACHINE)["memory"] == "8388608Ki"
    assert allocatable(windows, MACHINE)["memory"] == f"{8388608 - 500 * 1024}Ki"
    assert allocatable(linux, MACHINE)["memory"] == f"{8388608 - 100 * 1024}Ki"
    assert "hugepages-2Mi" not in capacity(windows, MACHINE)


def test_node_conditions_in_upstream_words() -> None:
    found = conditions(RuntimeHealth("x://1", ()), Pressure(), {}, NOW)
    assert [(c["type"], c["status"], c["reason"]) for c in found] == [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID"),
        ("Ready", "True", "KubeletReady"),
    ]
    down = conditions(RuntimeHealth(problems=("a", "b")), Pressure(memory=True), {}, NOW)
    assert down[-1]["message"] == "[a, b]"
    assert down[0]["reason"] == "KubeletHasInsufficientMemory"


def test_image_names_get_tags_policies_and_registries() -> None:
    assert with_tag("a/b") == "a/b:latest"
    assert with_tag("r:5000/a") == "r:5000/a:latest"
    assert with_tag("a@sha256:x") == "a@sha256:x"
    assert default_policy("a:latest") == "Always"
    assert default_policy("a:1") == "IfNotPresent"
    assert registry_of("localhost/a") == "localhost"
    assert registry_of("a/b") == "index.docker.io"


def test_broken_pull_secrets_are_as_good_as_none() -> None:
    for data in ({".dockerconfigjson": "bm8="}, {".dockerconfigjson": "W10="}, {}):
        assert find_credentials([{"data": data}], "a/b") == []


@pytest.mark.parametrize(
    ("registry", "image", "found"),
    [
        ("shop.azurecr.io", "shop.azurecr.io/a:1", True),
        ("*.azurecr.io", "shop.azurecr.io/a:1", True),
        ("https://*.azurecr.io/team", "shop.azurecr.io/team/a:1", True),
        ("*.azurecr.io/team", "shop.azurecr.io/other/a:1", False),
        ("*.io", "shop.azurecr.io/a:1", False),
        ("*.azurecr.io:5000", "shop.azurecr.io/a:1", False),
        ("[fd00::1]:5000", "[fd00::1]:5000/a:1", True),
        ("docker.io", "a/b", True),
    ],
)
def test_pull_secrets_match_registries_by_their_parts(
    registry: str, image: str, found: bool
) -> None:
    config = json.dumps({"auths": {registry: {"username": "u", "password": "p"}}}).encode()
    secret = {"data": {".dockerconfigjson": base64.b64encode(config).decode()}}
    assert [each.username for each in find_credentials([secret], image)] == ["u"] * found


def test_only_pods_that_changed_are_woken() -> None:
    old = {"a": ("u1", 0), "b": ("u2", 0), "x": ("", 0)}
    new = {"a": ("u1", 0), "b": ("u2", 1), "c": ("u3", 0)}
    assert changed_pods(old, new) == {"u2", "u3"}
