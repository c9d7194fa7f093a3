"""The mounts of one container: its volumes, the hosts file and the termination message file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.errors import KubeletError, StartError
from winkube.kubelet.pod import identity
from winkube.kubelet.spec import hosts
from winkube.kubelet.spec.expansion import expand
from winkube.kubelet.spec.paths import container_path
from winkube.kubelet.spec.sandbox import domain_of, hostname_of
from winkube.kubelet.volume.subpath import ensure_subpath
from winkube.kubelet.volume.volumes import Volume
from winkube.wire import cri

_PROPAGATION: Final = {
    "HostToContainer": cri.PROPAGATION_HOST_TO_CONTAINER,
    "Bidirectional": cri.PROPAGATION_BIDIRECTIONAL,
}


def message_file(config: KubeletConfig, uid: str, container: str, attempt: int) -> Path:
    return config.pod_dir(uid) / "containers" / container / f"{attempt}.message"


def build_mounts(
    pod: JsonObject,
    container: JsonObject,
    volumes: Mapping[str, Volume],
    env: Mapping[str, str],
    config: KubeletConfig,
) -> list[Any]:
    result = []
    for index, mount in enumerate(container.get("volumeMounts") or []):
        volume = volumes.get(mount["name"])
        if volume is None:
            raise StartError(
                "CreateContainerConfigError",
                f'cannot find volume "{mount["name"]}" to mount into container '
                f'"{container["name"]}"',
            )
        _check_recursive_read_only(mount)
        path = _host_path(pod, container, index, volume, env, config)
        propagation = cri.PROPAGATION_PRIVATE
        if not config.is_windows:
            propagation = _PROPAGATION.get(mount.get("mountPropagation") or "", propagation)
        result.append(
            cri.Mount(
                container_path=container_path(mount["mountPath"], windows=config.is_windows),
                host_path=str(path),
                readonly=bool(mount.get("readOnly")) or volume.read_only,
                propagation=propagation,
            )
        )
    return result


def _check_recursive_read_only(mount: JsonObject) -> None:
    """No runtime of ours has it (kubernetes: pkg/kubelet/kubelet_pods.go, in its words)."""
    mode, name = mount.get("recursiveReadOnly") or "Disabled", mount["name"]
    asked = f'volume "{name}" requested recursive read-only mode, but it is not'
    propagation = mount.get("mountPropagation") or "None"
    problem = ""
    if mode == "Disabled":
        return
    if not mount.get("readOnly"):
        problem = f"{asked} read-only"
    elif propagation != "None":
        problem = f'{asked} compatible with propagation "{propagation}"'
    elif mode == "Enabled":
        problem = f"{asked} supported by the runtime"
    if problem:
        message = f"failed to resolve recursive read-only mode: {problem}"
        raise StartError("CreateContainerConfigError", message)


def _host_path(
    pod: JsonObject,
    container: JsonObject,
    index: int,
    volume: Volume,
    env: Mapping[str, str],
    config: KubeletConfig,
) -> Path:
    mount = container["volumeMounts"][index]
    sub = mount.get("subPath") or ""
    if mount.get("subPathExpr"):
        sub = expand(mount["subPathExpr"], env)
    if not sub:
        return volume.path
    base = config.pod_dir(identity.uid_of(pod)) / "volume-subpaths"
    target = base / mount["name"] / container["name"] / str(index)
    try:
        return ensure_subpath(volume.path, sub, target)
    except (KubeletError, OSError) as error:
        raise StartError(
            "CreateContainerConfigError",
            f'failed to prepare subPath for volumeMount "{mount["name"]}" of container '
            f'"{container["name"]}": {error}',
        ) from error


def hosts_mount(
    pod: JsonObject, container: JsonObject, ips: tuple[str, ...], config: KubeletConfig
) -> list[Any]:
    windows = config.is_windows
    if not hosts.needs_hosts(pod, container, windows=windows):
        return []
    file = config.pod_dir(identity.uid_of(pod)) / "etc-hosts"
    aliases = pod["spec"].get("hostAliases") or []
    if identity.is_host_network(pod):
        text = hosts.to_host_network_hosts(hosts.read_host_file(), aliases)
    else:
        domain = domain_of(pod, config.cluster_domain)
        text = hosts.to_hosts(ips, hostname_of(pod), domain, aliases)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o644)
    path = hosts.WINDOWS_PATH if windows else hosts.LINUX_PATH
    return [cri.Mount(container_path=path, host_path=str(file))]


def message_mount(
    pod: JsonObject, container: JsonObject, attempt: int, config: KubeletConfig
) -> list[Any]:
    path = container.get("terminationMessagePath")
    if not path:
        return []
    file = message_file(config, identity.uid_of(pod), container["name"], attempt)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"")
    # The container's user is anybody.
    file.chmod(0o666)
    target = container_path(path, windows=config.is_windows)
    return [cri.Mount(container_path=target, host_path=str(file))]
