"""Which labels a kubelet may give its own node.

Labels of Kubernetes' own domains steer workloads and tell trusted nodes from others, so a node says
only a few of them about itself (k8s.io/kubernetes: staging/src/k8s.io/kubelet/pkg/apis).
"""

from typing import Final

_DOMAINS: Final = ("kubernetes.io", "k8s.io")
_NAMES: Final = frozenset(
    {
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }
)
_FREE: Final = ("kubelet.kubernetes.io", "node.kubernetes.io")


def is_kubelet_label(key: str) -> bool:
    prefix = key.rpartition("/")[0]
    if not _is_within(prefix, _DOMAINS):
        return True
    return key in _NAMES or _is_within(prefix, _FREE)


def _is_within(prefix: str, domains: tuple[str, ...]) -> bool:
    return any(prefix == domain or prefix.endswith(f".{domain}") for domain in domains)
