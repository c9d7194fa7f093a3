"""The labels and annotations by which pods and containers are found again in the runtime.

They are upstream's (kubernetes: pkg/kubelet/types/labels.go, kuberuntime/labels.go), so a restarted
kubelet adopts what runs, and crictl shows names.
"""

import hashlib
from collections.abc import Iterator
from typing import Final

import orjson

from winkube.base.types import JsonObject

POD_NAME: Final = "io.kubernetes.pod.name"
POD_NAMESPACE: Final = "io.kubernetes.pod.namespace"
POD_UID: Final = "io.kubernetes.pod.uid"
CONTAINER_NAME: Final = "io.kubernetes.container.name"

HASH: Final = "io.kubernetes.container.hash"
RESTART_COUNT: Final = "io.kubernetes.container.restartCount"
MESSAGE_PATH: Final = "io.kubernetes.container.terminationMessagePath"
MESSAGE_POLICY: Final = "io.kubernetes.container.terminationMessagePolicy"
GRACE_PERIOD: Final = "io.kubernetes.pod.terminationGracePeriod"

DEFAULT_GRACE_SECONDS: Final = 30


def uid_of(pod: JsonObject) -> str:
    return str(pod["metadata"]["uid"])


def name_of(pod: JsonObject) -> str:
    return str(pod["metadata"]["name"])


def namespace_of(pod: JsonObject) -> str:
    return str(pod["metadata"].get("namespace") or "default")


def key_of(pod: JsonObject) -> str:
    return f"{namespace_of(pod)}/{name_of(pod)}"


def full_name(pod: JsonObject) -> str:
    """``name_namespace(uid)``: how upstream names a pod in messages."""
    return f"{name_of(pod)}_{namespace_of(pod)}({uid_of(pod)})"


def init_containers(pod: JsonObject) -> list[JsonObject]:
    return pod["spec"].get("initContainers") or []


def containers(pod: JsonObject) -> list[JsonObject]:
    return pod["spec"].get("containers") or []


def ephemeral_containers(pod: JsonObject) -> list[JsonObject]:
    return pod["spec"].get("ephemeralContainers") or []


def all_containers(pod: JsonObject) -> Iterator[JsonObject]:
    yield from init_containers(pod)
    yield from containers(pod)


def find_container(pod: JsonObject, name: str) -> JsonObject | None:
    specs = (*all_containers(pod), *ephemeral_containers(pod))
    return next((spec for spec in specs if spec["name"] == name), None)


def is_sidecar(container: JsonObject) -> bool:
    return container.get("restartPolicy") == "Always"


def restart_policy(pod: JsonObject) -> str:
    return str(pod["spec"].get("restartPolicy") or "Always")


def is_host_network(pod: JsonObject) -> bool:
    return bool(pod["spec"].get("hostNetwork"))


def is_host_process(pod: JsonObject) -> bool:
    """Whether any container is a Windows HostProcess container; then all are (API rule)."""
    contexts = [pod["spec"].get("securityContext")]
    contexts += [container.get("securityContext") for container in all_containers(pod)]
    return any(
        ((context or {}).get("windowsOptions") or {}).get("hostProcess") for context in contexts
    )


def grace_seconds(pod: JsonObject) -> int:
    """What a deletion asked for, else what the pod asks for itself."""
    asked = pod["metadata"].get("deletionGracePeriodSeconds")
    if asked is None:
        asked = pod["spec"].get("terminationGracePeriodSeconds", DEFAULT_GRACE_SECONDS)
    return max(int(asked), 1) if pod["metadata"].get("deletionTimestamp") else int(asked)


def container_hash(container: JsonObject) -> str:
    """Changes only when the container has to be replaced: of a spec only the image is mutable."""
    picked = {"name": container["name"], "image": container.get("image", "")}
    return hashlib.sha256(orjson.dumps(picked, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def pod_labels(pod: JsonObject) -> dict[str, str]:
    own = {POD_NAME: name_of(pod), POD_NAMESPACE: namespace_of(pod), POD_UID: uid_of(pod)}
    return {**(pod["metadata"].get("labels") or {}), **own}


def container_labels(pod: JsonObject, container: JsonObject) -> dict[str, str]:
    return {
        POD_NAME: name_of(pod),
        POD_NAMESPACE: namespace_of(pod),
        POD_UID: uid_of(pod),
        CONTAINER_NAME: container["name"],
    }


def container_annotations(pod: JsonObject, container: JsonObject, attempt: int) -> dict[str, str]:
    return {
        HASH: container_hash(container),
        RESTART_COUNT: str(attempt),
        MESSAGE_PATH: str(container.get("terminationMessagePath") or ""),
        MESSAGE_POLICY: str(container.get("terminationMessagePolicy") or "File"),
        GRACE_PERIOD: str(grace_seconds(pod)),
    }


def to_reference(pod: JsonObject, container: JsonObject | None = None) -> JsonObject:
    """The ObjectReference events are about."""
    reference = {
        "kind": "Pod",
        "apiVersion": "v1",
        "namespace": namespace_of(pod),
        "name": name_of(pod),
        "uid": uid_of(pod),
    }
    if container is not None:
        reference["fieldPath"] = f"spec.{folder_of(pod, container)}{{{container['name']}}}"
    return reference


def folder_of(pod: JsonObject, container: JsonObject) -> str:
    """The list of the spec this container stands in."""
    name = container["name"]
    if any(spec["name"] == name for spec in init_containers(pod)):
        return "initContainers"
    if any(spec["name"] == name for spec in ephemeral_containers(pod)):
        return "ephemeralContainers"
    return "containers"
