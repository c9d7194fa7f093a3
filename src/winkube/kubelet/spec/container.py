"""The ContainerConfig of one container of a pod."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from winkube.base.types import JsonObject
from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.pod import identity
from winkube.kubelet.spec import resources, security
from winkube.kubelet.spec.expansion import expand, expand_all
from winkube.wire import cri


@dataclass(frozen=True, slots=True)
class Ingredients:
    """What was prepared before a container can be described."""

    image_ref: str
    attempt: int
    env: Mapping[str, str] = field(default_factory=dict)
    mounts: Sequence[Any] = ()
    cpus: int = 1
    memory_bytes: int = 0
    # The container whose processes a debugging container shares.
    target_id: str = ""


def build_container(
    pod: JsonObject, container: JsonObject, parts: Ingredients, config: KubeletConfig
) -> Any:
    env = dict(parts.env)
    name = container["name"]
    result = cri.ContainerConfig(
        metadata=cri.ContainerMetadata(name=name, attempt=parts.attempt),
        image=cri.ImageSpec(
            image=parts.image_ref, user_specified_image=str(container.get("image") or "")
        ),
        command=expand_all(container.get("command"), env),
        args=expand_all(container.get("args"), env),
        working_dir=expand(container.get("workingDir") or "", env),
        envs=[cri.KeyValue(key=key, value=value.encode()) for key, value in env.items()],
        mounts=parts.mounts,
        labels=identity.container_labels(pod, container),
        annotations=identity.container_annotations(pod, container, parts.attempt),
        log_path=f"{name}/{parts.attempt}.log",
        stdin=bool(container.get("stdin")),
        stdin_once=bool(container.get("stdinOnce")),
        tty=bool(container.get("tty")),
    )
    signal = (container.get("lifecycle") or {}).get("stopSignal")
    if signal:
        result.stop_signal = getattr(cri, f"SIGNAL_{signal}", cri.SIGNAL_RUNTIME_DEFAULT)
    if config.is_windows:
        result.windows.resources.CopyFrom(resources.windows_resources(container, parts.cpus))
        result.windows.security_context.CopyFrom(security.windows_context(pod, container))
    else:
        result.linux.resources.CopyFrom(
            resources.linux_resources(pod, container, parts.memory_bytes)
        )
        context = security.linux_context(pod, container)
        if parts.target_id:
            context.namespace_options.pid = cri.TARGET
            context.namespace_options.target_id = parts.target_id
        result.linux.security_context.CopyFrom(context)
    return result
