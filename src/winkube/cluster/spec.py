"""What the user asked for: ``cluster.yaml`` or flags, as one validated value.

Every complaint names the field as it stands in the file.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from winkube.api.names import label_key_problems, label_value_problems
from winkube.api.node_labels import is_kubelet_label
from winkube.cluster import subnet
from winkube.cluster.errors import SpecError
from winkube.facts.hns import Feature, supports
from winkube.facts.version import SERVED
from winkube.machines.personality import personalities

API_VERSION: Final = "winkube.io/v1alpha1"
KIND: Final = "Cluster"
VERSIONS: Final = tuple(f"1.{minor}" for minor in range(25, 38))
MAX_NODES: Final = 64  # of each kind: addresses are handed out from one /24
MAX_FILE: Final = 1 << 20
_TOP_FIELDS: Final = (
    "apiVersion",
    "kind",
    "name",
    "kubernetesVersion",
    "networking",
    "nodes",
    "registries",
)
_NETWORK_FIELDS: Final = ("ipFamily", "podSubnet", "serviceSubnet", "apiServerPort", "outbound")
_NODE_FIELDS: Final = ("os", "count", "windowsVersion", "labels")


@dataclass(frozen=True, slots=True)
class NodeSpec:
    name: str
    os: str
    windows_version: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    name: str = "winkube"
    kubernetes_version: str = SERVED
    # One, or one of each address family with a comma between them.
    pod_subnet: str = subnet.PODS[subnet.IPV4]
    service_subnet: str = subnet.SERVICES[subnet.IPV4]
    api_port: int = 0  # 0: any free port
    outbound: bool = True
    nodes: tuple[NodeSpec, ...] = ()
    mirrors: Mapping[str, str] = field(default_factory=dict)

    @property
    def context(self) -> str:
        """The kubeconfig context: the tool's own name for the default cluster."""
        return self.name if self.name == "winkube" else f"winkube-{self.name}"

    @property
    def is_dual(self) -> bool:
        """Whether nodes, pods and Services have addresses of both families."""
        return len(subnet.split(self.pod_subnet)) == 2

    @property
    def dns_ip(self) -> str:
        return self.service_ip(10)

    def service_ip(self, number: int) -> str:
        """An address of the first service subnet."""
        return str(ipaddress.ip_network(subnet.split(self.service_subnet)[0])[number])


def plan_nodes(linux: int, windows: int, windows_version: str = "ltsc2019") -> tuple[NodeSpec, ...]:
    _check_count("--linux", linux)
    _check_count("--windows", windows)
    _check_personality("--windows-version", windows_version)
    return _named([("linux", linux, "", {}), ("windows", windows, windows_version, {})])


def load_spec(path: Path) -> ClusterSpec:
    try:
        if path.stat().st_size > MAX_FILE:
            raise SpecError(str(path), f"larger than {MAX_FILE} bytes")
        document = yaml.safe_load(path.read_text())
    except OSError as error:
        raise SpecError(str(path), error.strerror or str(error)) from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise SpecError(str(path), f"not valid YAML: {error}") from error
    return parse_spec(document)


def parse_spec(document: Any) -> ClusterSpec:
    top = _mapping("the cluster file", document, _TOP_FIELDS)
    _expect("apiVersion", top.get("apiVersion"), API_VERSION)
    _expect("kind", top.get("kind"), KIND)
    network = _mapping("networking", top.get("networking", {}), _NETWORK_FIELDS)
    default = ClusterSpec()
    family = subnet.parse_ip_family("networking.ipFamily", network.get("ipFamily", subnet.IPV4))
    spec = ClusterSpec(
        name=_text("name", top.get("name", default.name)),
        kubernetes_version=_version(top.get("kubernetesVersion", default.kubernetes_version)),
        pod_subnet=subnet.parse_subnets(
            "networking.podSubnet",
            network.get("podSubnet", subnet.PODS[family]),
            family,
            subnet.LONGEST_PODS,
        ),
        service_subnet=subnet.parse_subnets(
            "networking.serviceSubnet",
            network.get("serviceSubnet", subnet.SERVICES[family]),
            family,
            subnet.LONGEST_SERVICES,
        ),
        api_port=_port("networking.apiServerPort", network.get("apiServerPort", 0)),
        outbound=_boolean("networking.outbound", network.get("outbound", default.outbound)),
        nodes=_parse_nodes(top.get("nodes")),
        mirrors=_parse_registries(top.get("registries", {})),
    )
    subnet.check_apart(spec.pod_subnet, spec.service_subnet)
    return spec


def _parse_nodes(document: Any) -> tuple[NodeSpec, ...]:
    if document is None:
        return plan_nodes(1, 2)
    if not isinstance(document, list) or not document:
        raise SpecError("nodes", "must be a list with at least one entry")
    groups = []
    for index, entry in enumerate(document):
        path = f"nodes[{index}]"
        group = _mapping(path, entry, _NODE_FIELDS)
        system = group.get("os")
        if system not in ("linux", "windows"):
            raise SpecError(f"{path}.os", f"must be linux or windows, not {system!r}")
        if system == "linux" and "windowsVersion" in group:
            raise SpecError(f"{path}.windowsVersion", "only a windows node has one")
        version = group.get("windowsVersion", "ltsc2019") if system == "windows" else ""
        if version:
            _check_personality(f"{path}.windowsVersion", version)
        count = group.get("count", 1)
        _check_count(f"{path}.count", count)
        groups.append((system, count, version, _labels(f"{path}.labels", group.get("labels", {}))))
    return _named(groups)


def _named(groups: list[tuple[str, int, str, dict[str, str]]]) -> tuple[NodeSpec, ...]:
    """Number the nodes of each system: lin-1, lin-2, win-1 ..."""
    seen = {"linux": 0, "windows": 0}
    nodes = []
    for system, count, version, labels in groups:
        for _ in range(count):
            seen[system] += 1
            nodes.append(NodeSpec(f"{system[:3]}-{seen[system]}", system, version, labels))
    for system, count in seen.items():
        if count > MAX_NODES:
            raise SpecError(
                "nodes", f"{count} {system} nodes: at most {MAX_NODES} of each are possible"
            )
    return tuple(nodes)


def _parse_registries(document: Any) -> dict[str, str]:
    registries = _mapping("registries", document, None)
    mirrors = {}
    for host, mirror in registries.items():
        url = _text(f"registries.{host}", mirror)
        if not url.startswith(("http://", "https://")):
            raise SpecError(f"registries.{host}", "must be an http:// or https:// URL")
        mirrors[str(host)] = url
    return mirrors


def _mapping(path: str, value: Any, fields: tuple[str, ...] | None) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SpecError(path, f"must be a mapping, not {type(value).__name__}")
    for key in value:
        if fields is not None and key not in fields:
            raise SpecError(path, f"unknown field {key!r}; known are {', '.join(fields)}")
    return value


def _expect(path: str, value: Any, wanted: str) -> None:
    if value != wanted:
        raise SpecError(path, f"must be {wanted!r}, not {value!r}")


def _text(path: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise SpecError(path, f"must be a text, not {value!r}")
    return value


def _boolean(path: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise SpecError(path, f"must be true or false, not {value!r}")
    return value


def _version(value: Any) -> str:
    if isinstance(value, float):  # YAML reads 1.30 as the number 1.3
        raise SpecError("kubernetesVersion", f'must be in quotes, as in "{VERSIONS[-4]}"')
    text = str(value).removeprefix("v")
    if text not in VERSIONS:
        raise SpecError(
            "kubernetesVersion", f"{value!r} is not served; choose one of {', '.join(VERSIONS)}"
        )
    return text


def _port(path: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 65535:
        raise SpecError(path, f"must be a port number, not {value!r}")
    return value


def _labels(path: str, value: Any) -> dict[str, str]:
    labels = _mapping(path, value, None)
    for key, text in labels.items():
        problems = label_key_problems(_text(path, key))
        problems += label_value_problems(_text(f"{path}.{key}", text)) if text != "" else ()
        if not is_kubelet_label(key):
            problems += ("is not a label a node may give itself; set it with kubectl label",)
        if problems:
            raise SpecError(f"{path}.{key}", problems[0])
    return labels


def _check_count(path: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_NODES:
        raise SpecError(path, f"must be a number from 0 to {MAX_NODES}, not {value!r}")


def _check_personality(path: str, value: Any) -> None:
    """Any kube-proxy that is served needs an HNS with API v2; those of 1709 and 1803 lack it."""
    name, known = _text(path, value), personalities()
    usable = [key for key in known if supports(known[key].hns_version, Feature.V2_API)]
    if name in usable:
        return
    problem = (
        f"{name} has no HNS API v2, which kube-proxy needs"
        if name in known
        else (f"unknown Windows version {name!r}")
    )
    raise SpecError(path, f"{problem}: choose one of {', '.join(sorted(usable))}")
