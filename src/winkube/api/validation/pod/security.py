"""Security contexts, and what an operating system named in ``spec.os`` rules out."""

import re
from collections.abc import Iterator
from typing import Any, Final

from winkube.api import names
from winkube.api.validation.common import check_choice, check_descending, check_id
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

CONTAINER_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")
_NOT_WINDOWS: Final = "cannot be set for a windows pod"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_NETBIOS: Final = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS_LABEL: Final = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS_DOMAIN: Final = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")
_BAD_USER: Final = re.compile(r'["/\\:;|=,+*?<>@\[\]]')
_DOMAIN_LENGTH: Final = 256
_USER_LENGTH: Final = 104
_SPEC_BYTES: Final = 64 * 1024
_PATH_BYTES: Final = 4095
_POD_FORBIDDEN: Final = (
    "runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
)  # fmt: skip
_CONTAINER_FORBIDDEN: Final = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities",
    "readOnlyRootFilesystem", "privileged", "allowPrivilegeEscalation", "procMount", "runAsUser",
    "runAsGroup",
)  # fmt: skip
_SYSCTL: Final = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?")
_SYSCTL_TEXT: Final = (
    "must have at most 253 characters and match regex "
    r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
)


def each_container(spec: JsonObject, path: str) -> Iterator[tuple[JsonObject, str]]:
    for field in CONTAINER_LISTS:
        for index, container in enumerate(spec.get(field) or ()):
            yield container, f"{path}.{field}[{index}]"


def check_pod_security(spec: JsonObject, path: str, problems: Problems) -> None:
    context = spec.get("securityContext") or {}
    here = f"{path}.securityContext"
    for field in ("fsGroup", "runAsUser", "runAsGroup"):
        check_id(context.get(field), f"{here}.{field}", problems)
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        check_id(group, f"{here}.supplementalGroups[{index}]", problems)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        problems.invalid(
            f"{here}.shareProcessNamespace",
            True,
            "ShareProcessNamespace and HostPID cannot both be enabled",
        )
    _check_sysctls(spec, context.get("sysctls") or (), f"{here}.sysctls", problems)
    check_choice(context, "fsGroupChangePolicy", ("Always", "OnRootMismatch"), here, problems)
    _check_profiles(context, here, problems)
    _check_app_armor(context.get("appArmorProfile"), f"{here}.appArmorProfile", problems)
    check_choice(context, "supplementalGroupsPolicy", ("Merge", "Strict"), here, problems)
    # The other choice belongs to a feature that is off.
    check_choice(context, "seLinuxChangePolicy", ("Recursive",), here, problems)


def _check_sysctls(spec: JsonObject, sysctls: Any, path: str, problems: Problems) -> None:
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        name, here = sysctl.get("name") or "", f"{path}[{index}].name"
        if not name:
            problems.required(here)
        elif len(name) > 253 or not _SYSCTL.fullmatch(name):
            problems.invalid(here, name, _SYSCTL_TEXT)
        elif name in seen:
            problems.duplicate(here, name)
        seen.add(name)
        dotted = name.replace("/", ".")
        if spec.get("hostNetwork") and dotted.startswith("net."):
            problems.invalid(here, name, "may not be specified when 'hostNetwork' is true")
        ipc = dotted.startswith(("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue."))
        if spec.get("hostIPC") and ipc:
            problems.invalid(here, name, "may not be specified when 'hostIPC' is true")


def check_host_users(spec: JsonObject, path: str, problems: Problems) -> None:
    if spec.get("hostUsers") is not False:
        return
    # Upstream spells two of the three paths with a capital.
    shown_as = {"hostNetwork": "hostNetwork", "hostPID": "HostPID", "hostIPC": "HostIPC"}
    for field, shown in shown_as.items():
        if spec.get(field):
            problems.forbidden(f"{path}.{shown}", "when `hostUsers` is false")
    for container, here in each_container(spec, path):
        if container.get("volumeDevices"):
            problems.forbidden(f"{here}.volumeDevices", "when `hostUsers` is false")


def check_container_security(
    context: JsonObject, path: str, problems: Problems, *, host_users: bool
) -> None:
    for field in ("runAsUser", "runAsGroup"):
        check_id(context.get(field), f"{path}.{field}", problems)
    mount = context.get("procMount")
    if mount is not None:
        check_choice(context, "procMount", ("Default", "Unmasked"), path, problems)
        if mount == "Unmasked" and host_users:
            text = "`hostUsers` must be false to use `Unmasked`"
            problems.invalid(f"{path}.procMount", mount, text)
    _check_seccomp(context.get("seccompProfile"), f"{path}.seccompProfile", problems)
    if context.get("allowPrivilegeEscalation") is False:
        _check_escalation(context, path, problems)
    check_windows_options(context.get("windowsOptions"), f"{path}.windowsOptions", problems)
    _check_app_armor(context.get("appArmorProfile"), f"{path}.appArmorProfile", problems)


def _check_escalation(context: JsonObject, path: str, problems: Problems) -> None:
    text = "cannot set `allowPrivilegeEscalation` to false and"
    if context.get("privileged"):
        problems.invalid(path, _internal(context), f"{text} `privileged` to true")
    if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
        problems.invalid(path, _internal(context), f"{text} `capabilities.Add` CAP_SYS_ADMIN")


def _internal(context: JsonObject) -> JsonObject:
    """A container's context as upstream's messages show it: by its Go fields."""
    capabilities = context.get("capabilities")
    if capabilities is not None:
        capabilities = {"Add": capabilities.get("add"), "Drop": capabilities.get("drop")}
    return {
        "Capabilities": capabilities,
        "Privileged": context.get("privileged"),
        "SELinuxOptions": _go_names(context.get("seLinuxOptions"), _SELINUX),
        "WindowsOptions": _go_names(context.get("windowsOptions"), _WINDOWS),
        "RunAsUser": context.get("runAsUser"),
        "RunAsGroup": context.get("runAsGroup"),
        "RunAsNonRoot": context.get("runAsNonRoot"),
        "ReadOnlyRootFilesystem": context.get("readOnlyRootFilesystem"),
        "AllowPrivilegeEscalation": context.get("allowPrivilegeEscalation"),
        "ProcMount": context.get("procMount"),
        "SeccompProfile": _go_names(context.get("seccompProfile"), _PROFILE),
        "AppArmorProfile": _go_names(context.get("appArmorProfile"), _PROFILE),
    }


_PROFILE: Final = {"Type": "type", "LocalhostProfile": "localhostProfile"}
_SELINUX: Final = {"User": "user", "Role": "role", "Type": "type", "Level": "level"}
_WINDOWS: Final = {
    "GMSACredentialSpecName": "gmsaCredentialSpecName",
    "GMSACredentialSpec": "gmsaCredentialSpec",
    "RunAsUserName": "runAsUserName",
    "HostProcess": "hostProcess",
}


def _go_names(value: JsonObject | None, fields: dict[str, str]) -> JsonObject | None:
    if value is None:
        return None
    return {name: value.get(field) for name, field in fields.items()}


def _check_profiles(context: JsonObject, path: str, problems: Problems) -> None:
    _check_seccomp(context.get("seccompProfile"), f"{path}.seccompProfile", problems)
    check_windows_options(context.get("windowsOptions"), f"{path}.windowsOptions", problems)


_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")


def _check_seccomp(profile: JsonObject | None, path: str, problems: Problems) -> None:
    if profile is None:
        return
    kind, local, here = profile.get("type"), profile.get("localhostProfile"), "localhostProfile"
    _check_profile_type(kind, path, "seccompProfile", problems)
    if kind != "Localhost":
        if local is not None:
            text = "can only be set when seccomp type is Localhost"
            shown = {"Type": kind or "", "LocalhostProfile": local}
            problems.invalid(f"{path}.{here}", shown, text)
    elif local is None:
        problems.required(f"{path}.{here}", "must be set when seccomp type is Localhost")
    else:
        check_descending(local, f"{path}.{here}", problems)


def _check_profile_type(kind: str | None, path: str, profile: str, problems: Problems) -> None:
    if not kind:
        problems.required(f"{path}.type", f"type is required when {profile} is set")
    elif kind not in _PROFILES:
        problems.unsupported(f"{path}.type", kind, _PROFILES)


def _check_app_armor(profile: JsonObject | None, path: str, problems: Problems) -> None:
    if profile is None:
        return
    kind, local, here = profile.get("type"), profile.get("localhostProfile"), "localhostProfile"
    _check_profile_type(kind, path, "appArmorProfile", problems)
    if kind not in _PROFILES:
        return
    if kind != "Localhost":
        if local is not None:
            text = "can only be set when AppArmor type is Localhost"
            problems.invalid_enum(f"{path}.{here}", local, text)
    elif not local:
        problems.required(f"{path}.{here}", "must be set when AppArmor type is Localhost")
    else:
        if local != local.strip():
            problems.invalid(f"{path}.{here}", local, "must not be padded with whitespace")
        if len(local.encode()) > _PATH_BYTES:
            problems.too_long(f"{path}.{here}", _PATH_BYTES)


def check_windows_options(options: JsonObject | None, path: str, problems: Problems) -> None:
    if not options:
        return
    name = options.get("gmsaCredentialSpecName")
    if name is not None:
        details = names.dns_subdomain_problems(name)
        problems.all_invalid_enum(f"{path}.gmsaCredentialSpecName", name, details)
    spec, here = options.get("gmsaCredentialSpec"), f"{path}.gmsaCredentialSpec"
    if spec == "":
        problems.invalid(here, spec, "gmsaCredentialSpec cannot be an empty string")
    elif spec is not None and len(spec.encode()) > _SPEC_BYTES:
        problems.invalid_enum(here, spec, "gmsaCredentialSpec size must be under 64 KiB")
    user = options.get("runAsUserName")
    if user is not None:
        problems.all_invalid_enum(f"{path}.runAsUserName", user, _user_name_problems(user))


def _user_name_problems(value: str) -> list[str]:
    if not value:
        return ["runAsUserName cannot be an empty string"]
    if _CONTROL.search(value):
        return ["runAsUserName cannot contain control characters"]
    if value.count("\\") > 1:
        return ["runAsUserName cannot contain more than one backslash"]
    domain, backslash, user = value.rpartition("\\")
    found = []
    if len(domain) >= _DOMAIN_LENGTH:
        found.append(f"Domain length must be under {_DOMAIN_LENGTH} characters")
    if backslash and not (_NETBIOS.fullmatch(domain) or _DNS_DOMAIN.fullmatch(domain)):
        found.append("Domain doesn't match the NetBios nor the DNS format")
    if not user:
        found.append("User cannot be empty")
    elif len(user) > _USER_LENGTH:
        found.append(f"User length must not be longer than {_USER_LENGTH} characters")
    if user and not user.strip(". "):
        found.append("User cannot contain only periods or spaces")
    if _BAD_USER.search(user):
        found.append('User cannot contain the following characters: "/\\:;|=,+*?<>@[]')
    return [f"runAsUserName's {text}" for text in found]


def check_host_process(spec: JsonObject, path: str, problems: Problems) -> None:
    """All containers of a pod are HostProcess containers, or none is."""
    pod_value = _host_process(spec)
    total = chosen = 0
    for container, here in each_container(spec, path):
        own = _host_process(container)
        total += 1
        chosen += bool(pod_value if own is None else own)
        if own is not None and pod_value is not None and own != pod_value:
            problems.invalid(
                f"{here}.securityContext.windowsOptions.hostProcess",
                own,
                "pod hostProcess value must be identical if both are specified, was "
                f"{str(pod_value).lower()}",
            )
    if not chosen:
        return
    if chosen != total:
        problems.invalid(
            path,
            "",
            "If pod contains any hostProcess containers then all containers must be HostProcess "
            "containers",
        )
    if not spec.get("hostNetwork"):
        problems.invalid(
            f"{path}.hostNetwork",
            False,
            "hostNetwork must be true if pod contains any hostProcess containers",
        )


def _host_process(holder: JsonObject) -> bool | None:
    options = (holder.get("securityContext") or {}).get("windowsOptions") or {}
    value: bool | None = options.get("hostProcess")
    return value


def check_os(spec: JsonObject, path: str, problems: Problems) -> None:
    os = spec.get("os")
    if os is None:
        return
    name = os.get("name") or ""
    if not name:
        problems.required(f"{path}.os.name")
    elif name == "windows":
        _check_windows(spec, path, problems)
    elif name == "linux":
        _check_linux(spec, path, problems)
    else:
        # The path is the parent's: so it is upstream.
        problems.unsupported(f"{path}.os", name, ("linux", "windows"))


def _check_linux(spec: JsonObject, path: str, problems: Problems) -> None:
    holders = [(spec, path), *each_container(spec, path)]
    for holder, here in holders:
        if (holder.get("securityContext") or {}).get("windowsOptions") is not None:
            problems.forbidden(
                f"{here}.securityContext.windowsOptions",
                "windows options cannot be set for a linux pod",
            )


def _check_windows(spec: JsonObject, path: str, problems: Problems) -> None:
    context = spec.get("securityContext") or {}
    inner = f"{path}.securityContext"
    _forbid(context, ("appArmorProfile", "seLinuxOptions"), inner, problems)
    # Set at all, even to false.
    _forbid(spec, ("hostUsers",), path, problems)
    for field in ("hostPID", "hostIPC"):
        if spec.get(field):
            problems.forbidden(f"{path}.{field}", _NOT_WINDOWS)
    first = ("seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls")
    _forbid(context, first, inner, problems)
    _forbid(spec, ("shareProcessNamespace",), path, problems)
    _forbid(context, _POD_FORBIDDEN, inner, problems)
    for container, here in each_container(spec, path):
        own = container.get("securityContext") or {}
        _forbid(own, _CONTAINER_FORBIDDEN, f"{here}.securityContext", problems)


def _forbid(holder: JsonObject, fields: tuple[str, ...], path: str, problems: Problems) -> None:
    for field in fields:
        if holder.get(field) is not None:
            problems.forbidden(f"{path}.{field}", _NOT_WINDOWS)
