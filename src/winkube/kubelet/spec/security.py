"""Who a container runs as and what it may do, for both operating systems."""

from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.kubelet.errors import StartError
from winkube.kubelet.pod import identity
from winkube.wire import cri

CONFIG_ERROR: Final = "CreateContainerConfigError"
WINDOWS_ROOT: Final = "ContainerAdministrator"
_MASKED: Final = (
    "/proc/asound", "/proc/acpi", "/proc/interrupts", "/proc/kcore", "/proc/keys",
    "/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug",
    "/proc/scsi", "/sys/firmware", "/sys/devices/virtual/powercap",
)  # fmt: skip
_READ_ONLY: Final = (
    "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger",
)  # fmt: skip


def effective(pod: JsonObject, container: JsonObject, key: str) -> Any:
    """A setting of the container, else of the pod."""
    own = (container.get("securityContext") or {}).get(key)
    if own is not None:
        return own
    return (pod["spec"].get("securityContext") or {}).get(key)


def windows_option(pod: JsonObject, container: JsonObject, key: str) -> Any:
    for context in (container.get("securityContext"), pod["spec"].get("securityContext")):
        value = ((context or {}).get("windowsOptions") or {}).get(key)
        if value is not None:
            return value
    return None


def check_non_root(pod: JsonObject, container: JsonObject, image: Any, *, windows: bool) -> None:
    """Enforce runAsNonRoot against the effective user; ``image`` is the CRI Image or None."""
    if not effective(pod, container, "runAsNonRoot"):
        return
    if windows:
        _check_windows_user(pod, container, image)
        return
    user = effective(pod, container, "runAsUser")
    place = f'pod: "{identity.full_name(pod)}", container: {container["name"]}'
    if user is not None:
        if int(user) == 0:
            raise StartError(
                CONFIG_ERROR, f"container's runAsUser breaks non-root policy ({place})"
            )
        return
    if image is None:
        return
    if image.HasField("uid"):
        if image.uid.value == 0:
            raise StartError(
                CONFIG_ERROR,
                f"container has runAsNonRoot and image will run as root ({place})",
            )
        return
    if image.username:
        raise StartError(
            CONFIG_ERROR,
            f"container has runAsNonRoot and image has non-numeric user ({image.username}), "
            f"cannot verify user is non-root ({place})",
        )


def _check_windows_user(pod: JsonObject, container: JsonObject, image: Any) -> None:
    name = windows_option(pod, container, "runAsUserName")
    where = "container's runAsUserName"
    if name is None:
        name = image.username if image is not None else ""
        where = "container's runAsUser"
    if str(name or "").lower() == WINDOWS_ROOT.lower():
        raise StartError(
            CONFIG_ERROR,
            f"{where} ({name}) which will be regarded as root identity and will break non-root "
            f'policy (pod: "{identity.full_name(pod)}", container: {container["name"]})',
        )


def linux_context(pod: JsonObject, container: JsonObject) -> Any:
    own = container.get("securityContext") or {}
    shared = pod["spec"].get("securityContext") or {}
    context = cri.LinuxContainerSecurityContext(
        privileged=bool(own.get("privileged")),
        readonly_rootfs=bool(own.get("readOnlyRootFilesystem")),
        no_new_privs=own.get("allowPrivilegeEscalation") is False,
        namespace_options=namespace_options(pod),
        supplemental_groups=_groups(shared),
        seccomp_profile_path=_seccomp(pod, container),
    )
    if not context.privileged and own.get("procMount") != "Unmasked":
        context.masked_paths.extend(_MASKED)
        context.readonly_paths.extend(_READ_ONLY)
    _set_user(context, pod, container)
    added = own.get("capabilities") or {}
    context.capabilities.add_capabilities.extend(added.get("add") or [])
    context.capabilities.drop_capabilities.extend(added.get("drop") or [])
    return context


def _set_user(context: Any, pod: JsonObject, container: JsonObject) -> None:
    user, group = effective(pod, container, "runAsUser"), effective(pod, container, "runAsGroup")
    if user is not None:
        context.run_as_user.value = int(user)
    if group is not None:
        # The runtime refuses a group without a user.
        context.run_as_group.value = int(group)
        if user is None:
            context.run_as_user.value = 0


def _groups(shared: JsonObject) -> list[int]:
    groups = [int(group) for group in shared.get("supplementalGroups") or []]
    fs_group = shared.get("fsGroup")
    return groups if fs_group is None or fs_group in groups else [*groups, int(fs_group)]


def _seccomp(pod: JsonObject, container: JsonObject) -> str:
    """The path form, which every runtime understands; unset means unconfined (upstream default)."""
    if (container.get("securityContext") or {}).get("privileged"):
        return "unconfined"
    profile = effective(pod, container, "seccompProfile") or {}
    kind = profile.get("type") or "Unconfined"
    if kind == "RuntimeDefault":
        return "runtime/default"
    if kind == "Localhost":
        return f"localhost/{profile.get('localhostProfile') or ''}"
    return "unconfined"


def namespace_options(pod: JsonObject) -> Any:
    spec = pod["spec"]
    pid = cri.CONTAINER
    if spec.get("hostPID"):
        pid = cri.NODE
    elif spec.get("shareProcessNamespace"):
        pid = cri.POD
    return cri.NamespaceOption(
        network=cri.NODE if spec.get("hostNetwork") else cri.POD,
        ipc=cri.NODE if spec.get("hostIPC") else cri.POD,
        pid=pid,
    )


def linux_sandbox_context(pod: JsonObject) -> Any:
    shared = pod["spec"].get("securityContext") or {}
    privileged = any(
        (container.get("securityContext") or {}).get("privileged")
        for container in identity.all_containers(pod)
    )
    context = cri.LinuxSandboxSecurityContext(
        namespace_options=namespace_options(pod),
        supplemental_groups=_groups(shared),
        privileged=privileged,
        seccomp_profile_path="runtime/default",
    )
    if shared.get("runAsUser") is not None:
        context.run_as_user.value = int(shared["runAsUser"])
        if shared.get("runAsGroup") is not None:
            context.run_as_group.value = int(shared["runAsGroup"])
    return context


def windows_context(pod: JsonObject, container: JsonObject) -> Any:
    return cri.WindowsContainerSecurityContext(
        run_as_username=windows_option(pod, container, "runAsUserName") or "",
        credential_spec=windows_option(pod, container, "gmsaCredentialSpec") or "",
        host_process=bool(windows_option(pod, container, "hostProcess")),
    )


def windows_sandbox_context(pod: JsonObject) -> Any:
    options = (pod["spec"].get("securityContext") or {}).get("windowsOptions") or {}
    # Only HostProcess pods share the host's network; hostNetwork alone changes nothing.
    return cri.WindowsSandboxSecurityContext(
        run_as_username=options.get("runAsUserName") or "",
        credential_spec=options.get("gmsaCredentialSpec") or "",
        host_process=identity.is_host_process(pod),
    )
