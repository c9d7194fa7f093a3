"""The names of resources: which are Kubernetes' own, which are extended, which a quota may have."""

from typing import Final

from winkube.api import names

HUGE_PAGES: Final = "hugepages-"
REQUESTS: Final = "requests."
_DOMAIN: Final = "kubernetes.io/"
STORAGE_CLASS: Final = ".storageclass.storage.k8s.io/"
DEVICE_CLASS: Final = ".deviceclass.resource.k8s.io/devices"

COUNTED: Final = frozenset(
    ("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
     "persistentvolumeclaims", "services.nodeports", "services.loadbalancers")
)  # fmt: skip
COMPUTE: Final = frozenset(
    ("cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory")
)
_QUOTA: Final = (
    COUNTED
    | COMPUTE
    | {
        "ephemeral-storage",
        "requests.storage",
        "requests.ephemeral-storage",
        "limits.ephemeral-storage",
    }
)
_CONTAINER: Final = frozenset(("cpu", "memory", "ephemeral-storage"))


def is_native(name: str) -> bool:
    """Without a domain, or in one of Kubernetes' own."""
    return "/" not in name or _DOMAIN in name


def is_extended(name: str) -> bool:
    if is_native(name) or name.startswith(REQUESTS):
        return False
    return not names.label_key_problems(REQUESTS + name)


def is_extended_in_quota(name: str) -> bool:
    return not is_native(name) and name.startswith(REQUESTS)


def is_standard_in_quota(name: str) -> bool:
    return name in _QUOTA or name.startswith((HUGE_PAGES, REQUESTS + HUGE_PAGES))


def is_standard(name: str) -> bool:
    return name == "storage" or is_standard_in_quota(name)


def is_standard_in_container(name: str) -> bool:
    return name in _CONTAINER or name.startswith(HUGE_PAGES)


def is_whole(name: str) -> bool:
    """Counted in whole numbers."""
    return name in COUNTED or is_extended(name)


def may_overcommit(name: str) -> bool:
    return is_native(name) and not name.startswith(HUGE_PAGES)


def count_name(group_resource: str) -> str:
    return f"count/{group_resource}"
