"""What the kubelet of a Windows node drops or refuses, by the rules of the knowledge base.

The manifests are those of the rules: with the field and without it the runtime must be asked for
the very same thing on a Windows node, and for another on a Linux node, if the field matters there.
"""

import copy
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from winkube.base.types import JsonObject
from winkube.facts.windows import windows_versions
from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.errors import KubeletError, StartError, VolumeError
from winkube.kubelet.node.machine import MachineFacts
from winkube.kubelet.node.status import allocatable, node_labels
from winkube.kubelet.pod.admission import Host, check_pod
from winkube.kubelet.spec.container import Ingredients, build_container
from winkube.kubelet.spec.fields import NodeFacts
from winkube.kubelet.spec.hosts import needs_hosts
from winkube.kubelet.spec.sandbox import build_sandbox
from winkube.kubelet.spec.security import check_non_root
from winkube.kubelet.volume.hostpath import ensure_hostpath
from winkube.kubelet.volume.mounts import build_mounts
from winkube.kubelet.volume.payload import PayloadSource
from winkube.kubelet.volume.volumes import Volume, VolumeSetup
from winkube.linux import mount
from winkube.rules.emulation import load_emulation
from winkube.rules.engine import check
from winkube.rules.model import Path as FieldPath
from winkube.rules.target import parse_target

Configs = Callable[[str], KubeletConfig]
Pods = Callable[..., JsonObject]
DATA = Path(__file__).parents[2] / "data" / "rules"
TEST = "test_ignored.py::test_the_kubelet_of_a_windows_node_ignores_it"
IGNORED = [rule for rule, how in load_emulation().items() if how.test.endswith(TEST)]
# What changes nothing for the runtime on Linux either: an annotation, or the work of others.
ONLY_STORED = {
    "WIN-POD-034", "WIN-POD-056", "WIN-POD-064", "WIN-SEC-018", "WIN-SEC-019", "WIN-SEC-021",
    "WIN-SEC-023", "WIN-SEC-025", "WIN-SEC-030", "WIN-SEC-031", "WIN-SEC-036", "WIN-SEC-055",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _no_mounts_left(tmp_path: Path) -> Iterator[None]:
    yield
    mount.umount_all(tmp_path)  # run by root, tokens are kept in memory


@pytest.mark.parametrize("rule", IGNORED)
def test_the_kubelet_of_a_windows_node_ignores_it(rule: str, config_of: Configs) -> None:
    bad = yaml.safe_load((DATA / rule / "bad.yaml").read_text())
    good = copy.deepcopy(bad)
    paths = [found.path for found in check([bad], parse_target("1.34")) if found.rule.id == rule]
    assert paths
    for path in reversed(paths):
        _remove(good, path)
    assert _asked(bad, config_of("windows")) == _asked(good, config_of("windows"))
    if rule not in ONLY_STORED:
        assert _asked(bad, config_of("linux")) != _asked(good, config_of("linux"))


def _remove(value: Any, path: FieldPath) -> None:
    for step in path[:-1]:
        value = value[step]
    del value[path[-1]]


def _asked(pod: JsonObject, config: KubeletConfig) -> list[bytes]:
    """All that the runtime is told of a pod, less annotations, which it only keeps."""
    pod = copy.deepcopy(pod)
    pod["metadata"].update(uid="u1", namespace="default")
    sandbox = build_sandbox(pod, 0, config)
    sandbox.annotations.clear()
    told = [sandbox.SerializeToString(deterministic=True)]
    volumes = {each["name"]: Volume(Path("/v")) for each in pod["spec"].get("volumes") or ()}
    for container in pod["spec"]["containers"]:
        check_non_root(pod, container, None, windows=config.is_windows)
        mounts = build_mounts(pod, container, volumes, {}, config)
        parts = Ingredients(image_ref="i", env={}, mounts=mounts, attempt=0, cpus=2)
        built = build_container(pod, container, parts, config)
        built.annotations.clear()
        told.append(built.SerializeToString(deterministic=True))
    return told


def test_the_host_s_network_is_not_given_to_ordinary_windows_pods(
    pod_of: Pods, config_of: Configs
) -> None:
    linux, windows = (
        build_sandbox(pod_of(hostNetwork=True), 0, config_of(os)) for os in ("linux", "windows")
    )
    assert linux.linux.security_context.namespace_options.network == 2
    assert not windows.HasField("linux")
    assert not windows.windows.security_context.host_process


def api_of(**objects: JsonObject) -> PayloadSource:
    """An API server that knows one object of each kind."""

    async def lookup(kind: str, namespace: str, name: str) -> JsonObject | None:
        return objects[kind]

    async def token(pod: JsonObject, projection: JsonObject) -> str:
        return "token"

    return PayloadSource(lookup, token, NodeFacts("n", ("192.0.2.1",), {}))


async def test_modes_of_files_mean_nothing_on_a_windows_node(
    pod_of: Pods, config_of: Configs
) -> None:
    modes = {}
    items = [{"key": "a", "path": "a", "mode": 0o440}, {"key": "b", "path": "b"}]
    source = {"name": "cm", "items": items, "defaultMode": 0o400}
    api = api_of(configMap={"data": {"a": "1", "b": "2"}})
    for os in ("linux", "windows"):
        pod = pod_of(volumes=[{"name": "v", "configMap": source}])
        ready = await VolumeSetup(config_of(os)).ensure(pod, api)
        modes[os] = [(ready["v"].path / name).stat().st_mode & 0o777 for name in ("a", "b")]
    assert modes == {"linux": [0o440, 0o400], "windows": [0o644, 0o644]}


@pytest.mark.parametrize(
    "source",
    [
        {"nfs": {"server": "a", "path": "/b"}},
        {"iscsi": {"targetPortal": "a"}},
        {"cephfs": {"monitors": ["a"]}},
        {"image": {"reference": "a"}},
    ],
    ids=lambda source: next(iter(source)),
)
async def test_a_windows_node_refuses_volumes_it_has_no_plugin_for(
    pod_of: Pods, config_of: Configs, source: JsonObject
) -> None:
    pod = pod_of(volumes=[{"name": "v", **source}])
    with pytest.raises(VolumeError, match="no volume plugin matched"):
        await VolumeSetup(config_of("windows")).ensure(pod, api_of())


async def test_a_windows_node_attaches_no_block_device(pod_of: Pods, config_of: Configs) -> None:
    api = api_of(
        persistentVolumeClaim={"spec": {"volumeName": "pv"}, "status": {"phase": "Bound"}},
        persistentVolume={"spec": {"volumeMode": "Block", "local": {"path": "C:\\disk"}}},
    )
    pod = pod_of(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])
    with pytest.raises(VolumeError, match="AttachFileDevice not supported for this build"):
        await VolumeSetup(config_of("windows")).ensure(pod, api)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"readOnly": True, "recursiveReadOnly": "Enabled"}, "not supported by the runtime"),
        ({"recursiveReadOnly": "Enabled"}, "not read-only"),
        (
            {
                "readOnly": True,
                "recursiveReadOnly": "IfPossible",
                "mountPropagation": "Bidirectional",
            },
            'not compatible with propagation "Bidirectional"',
        ),
    ],
)
def test_recursive_read_only_mounts_do_not_start(
    pod_of: Pods, config_of: Configs, asked: JsonObject, words: str
) -> None:
    mounts = [{"name": "v", "mountPath": "/v", **asked}]
    pod = pod_of(containers=[{"name": "main", "volumeMounts": mounts}])
    for os in ("windows", "linux"):
        with pytest.raises(StartError) as caught:
            build_mounts(
                pod, pod["spec"]["containers"][0], {"v": Volume(Path("/v"))}, {}, config_of(os)
            )
        assert words in caught.value.message


def test_a_mount_is_recursively_read_only_if_possible(pod_of: Pods, config_of: Configs) -> None:
    asked = {"name": "v", "mountPath": "/v", "readOnly": True, "recursiveReadOnly": "IfPossible"}
    pod = pod_of(containers=[{"name": "main", "volumeMounts": [asked]}])
    container = pod["spec"]["containers"][0]
    (built,) = build_mounts(pod, container, {"v": Volume(Path("/v"))}, {}, config_of("windows"))
    assert built.readonly


@pytest.mark.parametrize("kind", ["Socket", "CharDevice", "BlockDevice", "Directory", "File"])
def test_a_host_path_of_a_device_is_refused(tmp_path: Path, kind: str) -> None:
    with pytest.raises(KubeletError, match="hostPath type check failed"):
        ensure_hostpath({"path": "/dev/null", "type": kind}, tmp_path / "c")


def test_hosts_do_not_reach_host_process_pods(pod_of: Pods) -> None:
    aliases = [{"ip": "192.0.2.1", "hostnames": ["a"]}]
    plain = pod_of(hostAliases=aliases)
    options = {"windowsOptions": {"hostProcess": True, "runAsUserName": "NT AUTHORITY\\SYSTEM"}}
    host = pod_of(hostAliases=aliases, hostNetwork=True, securityContext=options)
    assert needs_hosts(plain, plain["spec"]["containers"][0], windows=True)
    assert not needs_hosts(host, host["spec"]["containers"][0], windows=True)


@pytest.mark.parametrize(("version", "hangs"), [("v1.29.0", True), ("v1.31.0", False)])
@pytest.mark.parametrize("user", [1000, None])
async def test_a_token_for_a_number_hangs_the_pods_of_older_windows_nodes(
    pod_of: Pods, config_of: Configs, version: str, hangs: bool, user: int | None
) -> None:
    token = {"serviceAccountToken": {"path": "token"}}
    pod = pod_of(
        volumes=[{"name": "v", "projected": {"sources": [token]}}],
        securityContext={} if user is None else {"runAsUser": user},
    )
    setup = VolumeSetup(dataclasses.replace(config_of("windows"), kube_version=version))
    if hangs and user is not None:
        with pytest.raises(VolumeError, match=r"chown .*token: not supported by windows"):
            await setup.ensure(pod, api_of())
    else:
        assert (await setup.ensure(pod, api_of()))["v"].read_only


async def test_an_empty_dir_in_memory_lies_on_the_disk(
    pod_of: Pods, config_of: Configs, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounted: list[Path] = []

    def mount_memory(path: Path, size: str | None = None) -> bool:
        mounted.append(path)
        return True

    monkeypatch.setattr("winkube.kubelet.volume.volumes._mount_memory", mount_memory)
    pod = pod_of(volumes=[{"name": "v", "emptyDir": {"medium": "Memory"}}])
    for os, expected in (("windows", 0), ("linux", 1)):
        await VolumeSetup(config_of(os)).ensure(pod, api_of())
        assert len(mounted) == expected


def test_a_windows_node_has_only_what_windows_nodes_have(pod_of: Pods, config_of: Configs) -> None:
    config = config_of("windows")
    machine = MachineFacts(4, 8 << 30, 1 << 40, "amd64", "boot", "6.1", "Debian")
    amounts, labels = allocatable(config, machine), node_labels(config, "amd64")
    assert not [name for name in amounts if "hugepages" in name or "/" in name]
    builds = {f"10.0.{version.build}" for version in windows_versions()}
    assert labels["node.kubernetes.io/windows-build"] in builds
    assert labels["kubernetes.io/os"] == "windows"
    assert not [label for label in labels if "control-plane" in label or "master" in label]
    host = Host("windows", "win-1", labels, (), amounts, {}, 0)
    huge = {"requests": {"hugepages-2Mi": "4Mi"}, "limits": {"hugepages-2Mi": "4Mi"}}
    with pytest.raises(KubeletError, match="hugepages-2Mi"):
        check_pod(pod_of(containers=[{"name": "main", "resources": huge}]), host)
    with pytest.raises(KubeletError, match="NodeAffinity"):
        check_pod(pod_of(nodeSelector={"node-role.kubernetes.io/control-plane": ""}), host)
