"""From a pod spec to CRI: DNS, paths, resources, security, admission."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from winkube.base.types import JsonObject
from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.errors import AdmissionError, KubeletError, StartError
from winkube.kubelet.pod.admission import Host, check_pod
from winkube.kubelet.spec.dns import ClusterDns, Resolver, parse_resolver, plan_dns
from winkube.kubelet.spec.expansion import expand
from winkube.kubelet.spec.paths import container_path, windows_host_path
from winkube.kubelet.spec.resources import (
    cpu_shares,
    linux_resources,
    pod_requests,
    windows_resources,
)
from winkube.kubelet.spec.sandbox import build_sandbox
from winkube.kubelet.spec.security import check_non_root, linux_context, windows_context
from winkube.wire import cri

Pods = Callable[..., JsonObject]
Configs = Callable[[str], KubeletConfig]
CLUSTER = ClusterDns(("10.96.0.10",), "cluster.local")
HOST_DNS = Resolver(("192.0.2.1",), ("corp.example",))


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$(A)", "1"),
        ("$$(A)", "$(A)"),
        ("$(B)", "$(B)"),
        ("$$$(A)$", "$1$"),
        ("$(A", "$(A"),
        ("$A", "$A"),
    ],
)
def test_references_are_expanded_as_upstream_does(text: str, expanded: str) -> None:
    assert expand(text, {"A": "1"}) == expanded


def test_cluster_first_searches_the_namespace_then_the_host(pod_of: Pods) -> None:
    assert plan_dns(pod_of(), CLUSTER, HOST_DNS) == Resolver(
        ("10.96.0.10",),
        ("default.svc.cluster.local", "svc.cluster.local", "cluster.local", "corp.example"),
        ("ndots:5",),
    )


def test_host_network_pods_fall_back_on_the_host_resolver(pod_of: Pods) -> None:
    assert plan_dns(pod_of(hostNetwork=True), CLUSTER, HOST_DNS) == HOST_DNS
    kept = pod_of(hostNetwork=True, dnsPolicy="ClusterFirstWithHostNet")
    assert plan_dns(kept, CLUSTER, HOST_DNS).servers == ("10.96.0.10",)


def test_dns_config_is_added_and_options_replaced(pod_of: Pods) -> None:
    config = {
        "nameservers": ["1.1.1.1"],
        "searches": ["x.y"],
        "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}],
    }
    pod = pod_of(dnsPolicy="None", dnsConfig=config)
    assert plan_dns(pod, CLUSTER, HOST_DNS) == Resolver(
        ("1.1.1.1",), ("x.y",), ("ndots:2", "edns0")
    )


def test_resolv_conf_is_read_with_comments() -> None:
    text = "# x\nnameserver 192.0.2.1 # why\nsearch a.b. c\noptions ndots:1 rotate\n"
    assert parse_resolver(text) == Resolver(("192.0.2.1",), ("a.b", "c"), ("ndots:1", "rotate"))


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("C:\\etc\\foo", "C:\\etc\\foo"),
        ("C:/etc/foo", "C:\\etc\\foo"),
        ("/etc/foo", "C:\\etc\\foo"),
        ("etc", "C:\\etc"),
        ("\\\\.\\pipe\\x", "\\\\.\\pipe\\x"),
    ],
)
def test_windows_mount_paths(path: str, seen: str) -> None:
    assert container_path(path, windows=True) == seen


@pytest.mark.parametrize("path", ["C:\\data\\x", "c:/data/x", "/data/x", "\\data\\x"])
def test_windows_host_paths_are_folders_of_the_c_drive(path: str) -> None:
    assert windows_host_path(path, Path("/n/c")) == Path("/n/c/data/x")


@pytest.mark.parametrize("path", ["D:\\data", "C:\\..\\x", "\\\\.\\pipe\\docker"])
def test_host_paths_off_the_c_drive_are_refused(path: str) -> None:
    with pytest.raises(KubeletError):
        windows_host_path(path, Path("/n/c"))


def _with_resources(pod_of: Pods, **resources: Any) -> JsonObject:
    return pod_of(containers=[{"name": "main", "resources": resources}])


def test_linux_limits_become_shares_quota_and_bytes(pod_of: Pods) -> None:
    pod = _with_resources(
        pod_of, requests={"cpu": "250m"}, limits={"cpu": "500m", "memory": "64Mi"}
    )
    made = linux_resources(pod, pod["spec"]["containers"][0], 8 << 30)
    assert (made.cpu_shares, made.cpu_quota, made.cpu_period) == (256, 50_000, 100_000)
    assert made.memory_limit_in_bytes == 64 << 20
    assert cpu_shares(0) == 2


@pytest.mark.parametrize(
    ("limit", "cpus", "maximum"),
    [("500m", 4, 1250), ("1m", 64, 1), ("100", 2, 10_000), ("0", 2, 0)],
)
def test_windows_cpu_is_a_hard_cap(limit: str, cpus: int, maximum: int) -> None:
    container = {"name": "x", "resources": {"limits": {"cpu": limit, "memory": "1Gi"}}}
    made = windows_resources(container, cpus)
    assert (made.cpu_maximum, made.memory_limit_in_bytes) == (maximum, 1 << 30)


def test_init_containers_count_by_their_peak_and_sidecars_add_up(pod_of: Pods) -> None:
    def need(name: str, cpu: str, **more: Any) -> JsonObject:
        return {"name": name, "resources": {"requests": {"cpu": cpu}}, **more}

    pod = pod_of(
        containers=[need("a", "1"), need("b", "1")],
        initContainers=[need("side", "1", restartPolicy="Always"), need("step", "3")],
    )
    assert pod_requests(pod) == {"cpu": Fraction(4)}
    pod["spec"]["resources"] = {"requests": {"cpu": "6"}}
    assert pod_requests(pod) == {"cpu": Fraction(6)}


def test_linux_security_context(pod_of: Pods) -> None:
    own = {"runAsUser": 5, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    pod = pod_of(
        containers=[{"name": "main", "securityContext": own}],
        securityContext={"runAsUser": 1, "runAsGroup": 7, "fsGroup": 9, "supplementalGroups": [8]},
        hostPID=True,
    )
    made = linux_context(pod, pod["spec"]["containers"][0])
    assert (made.run_as_user.value, made.run_as_group.value) == (5, 7)
    assert list(made.supplemental_groups) == [8, 9]
    assert made.no_new_privs
    assert list(made.capabilities.drop_capabilities) == ["ALL"]
    assert made.namespace_options.pid == cri.NODE


def test_windows_user_of_the_container_wins(pod_of: Pods) -> None:
    own = {"windowsOptions": {"runAsUserName": "ContainerUser"}}
    pod = pod_of(
        containers=[{"name": "main", "securityContext": own}],
        securityContext={"windowsOptions": {"runAsUserName": "x", "gmsaCredentialSpec": "{}"}},
    )
    made = windows_context(pod, pod["spec"]["containers"][0])
    assert (made.run_as_username, made.credential_spec) == ("ContainerUser", "{}")


@pytest.mark.parametrize("name", ["ContainerAdministrator", "CONTAINERADMINISTRATOR"])
def test_run_as_non_root_refuses_the_windows_administrator(pod_of: Pods, name: str) -> None:
    pod = pod_of(securityContext={"runAsNonRoot": True, "windowsOptions": {"runAsUserName": name}})
    container = pod["spec"]["containers"][0]
    with pytest.raises(StartError, match="will break non-root policy"):
        check_non_root(pod, container, None, windows=True)


def test_run_as_non_root_on_windows_looks_at_the_image_and_not_at_numbers(pod_of: Pods) -> None:
    pod = pod_of(securityContext={"runAsNonRoot": True, "runAsUser": 0})
    container = pod["spec"]["containers"][0]
    check_non_root(pod, container, cri.Image(username="ContainerUser"), windows=True)
    with pytest.raises(StartError):
        check_non_root(pod, container, cri.Image(username="containeradministrator"), windows=True)


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (cri.Image(uid=cri.Int64Value(value=0)), "image will run as root"),
        (cri.Image(username="app"), "non-numeric user (app)"),
    ],
)
def test_run_as_non_root_on_linux(pod_of: Pods, image: Any, words: str) -> None:
    pod = pod_of(securityContext={"runAsNonRoot": True})
    with pytest.raises(StartError) as caught:
        check_non_root(pod, pod["spec"]["containers"][0], image, windows=False)
    assert words in caught.value.message


def test_sandboxes_differ_by_system(pod_of: Pods, config_of: Configs) -> None:
    ports = [{"containerPort": 80, "hostPort": 8080}]
    pod = pod_of(containers=[{"name": "main", "ports": ports}], hostname="h")
    pod["metadata"]["uid"] = "u1"
    linux, windows = (build_sandbox(pod, 0, config_of(os)) for os in ("linux", "windows"))
    assert linux.hostname == windows.hostname == "h"
    assert linux.linux.cgroup_parent == "/winkube/pods/podu1"
    assert not windows.HasField("linux")
    assert windows.HasField("windows")
    assert linux.port_mappings[0].host_port == 8080
    assert linux.labels["io.kubernetes.pod.uid"] == "u1"


def _host(**changes: Any) -> Host:
    facts: dict[str, Any] = {
        "os": "windows",
        "name": "win-1",
        "labels": {"kubernetes.io/os": "windows"},
        "taints": (),
        "allocatable": {"cpu": "2", "memory": "4Gi", "pods": "10"},
        "used": {},
        "pods": 0,
    }
    return Host(**{**facts, **changes})


def _refusal(pod: JsonObject, host: Host) -> AdmissionError:
    with pytest.raises(AdmissionError) as caught:
        check_pod(pod, host)
    return caught.value


def test_a_linux_pod_is_refused_by_a_windows_node(pod_of: Pods) -> None:
    refusal = _refusal(pod_of(os={"name": "linux"}), _host())
    assert refusal.reason == "PodOSNotSupported"
    assert refusal.message == "Failed to admit pod as the OS field doesn't match node OS"


def test_the_os_label_of_the_pod_itself_counts(pod_of: Pods) -> None:
    pod = pod_of()
    pod["metadata"]["labels"]["kubernetes.io/os"] = "linux"
    assert _refusal(pod, _host()).reason == "PodOSSelectorNodeLabelDoesNotMatch"


def test_pod_level_resources_are_refused_by_windows_nodes_from_1_34_on(pod_of: Pods) -> None:
    pod = pod_of(resources={"limits": {"cpu": "1"}})
    check_pod(pod, _host(kube_version="v1.33.0"))
    with pytest.raises(AdmissionError, match="pod-level"):
        check_pod(pod, _host(kube_version="v1.34.0"))


def test_pod_level_resources_are_refused_on_windows(pod_of: Pods) -> None:
    pod = pod_of(resources={"limits": {"cpu": "1"}})
    assert _refusal(pod, _host()).reason == "PodLevelResourcesNotSupported"


def test_too_much_cpu_is_refused_in_numbers(pod_of: Pods) -> None:
    pod = _with_resources(pod_of, requests={"cpu": "1500m"})
    refusal = _refusal(pod, _host(used={"cpu": Fraction(1)}))
    assert refusal.reason == "OutOfcpu"
    assert refusal.message == (
        "Node didn't have enough resource: cpu, requested: 1500, used: 1000, capacity: 2000"
    )
    assert _refusal(pod_of(), _host(pods=10)).reason == "OutOfpods"


def test_node_selector_taints_and_host_ports(pod_of: Pods) -> None:
    assert _refusal(pod_of(nodeSelector={"a": "b"}), _host()).reason == "NodeAffinity"
    taint = {"key": "k", "value": "v", "effect": "NoExecute"}
    assert _refusal(pod_of(), _host(taints=(taint,))).reason == "TaintToleration"
    check_pod(pod_of(tolerations=[{"operator": "Exists"}]), _host(taints=(taint,)))
    ports = [{"containerPort": 80, "hostPort": 80}]
    pod = pod_of(containers=[{"name": "main", "ports": ports}])
    taken = frozenset({("0.0.0.0", "TCP", 80)})
    assert _refusal(pod, _host(ports=taken)).reason == "NodePorts"
