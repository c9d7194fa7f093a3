"""The container runtime of a Linux node: Debian's containerd, one instance per node."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from winkube.base.paths import NodePaths
from winkube.cluster.state import write_private

PAUSE_IMAGE: Final = "winkube.local/pause:1"
_CNI_PLUGINS: Final = ("/usr/lib/cni", "/opt/cni/bin")

_CONFIG: Final = """\
version = 2
root = "{root}"
state = "{state}"
oom_score = 0
disabled_plugins = [
  "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs",
  "io.containerd.internal.v1.opt", "io.containerd.tracing.processor.v1.otlp",
]

[grpc]
  address = "{socket}"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  netns_mounts_under_state_dir = true
  restrict_oom_score_adj = true
  enable_tls_streaming = false
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{cni_bin}"
    conf_dir = "{cni_conf}"
    max_conf_num = 1
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "{registries}"
"""

_HOSTS: Final = """\
server = "https://{host}"

[host."{mirror}"]
  capabilities = ["pull", "resolve"]
"""


def write_config(paths: NodePaths, *, mirrors: Mapping[str, str]) -> Path:
    """Write the node's containerd.toml and the mirrors of its registries."""
    registries = paths.state / "registries"
    for folder in (paths.runtime, paths.runtime_run, paths.cni_conf, registries):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for host, mirror in mirrors.items():
        content = _HOSTS.format(host=host, mirror=mirror)
        write_private(registries / host / "hosts.toml", content.encode())
    path = paths.state / "containerd.toml"
    text = _CONFIG.format(
        root=paths.runtime,
        state=paths.runtime_run,
        socket=paths.cri_socket,
        pause=PAUSE_IMAGE,
        cni_bin=next((p for p in _CNI_PLUGINS if Path(p, "bridge").exists()), _CNI_PLUGINS[0]),
        cni_conf=paths.cni_conf,
        registries=registries,
    )
    write_private(path, text.encode())
    return path
