"""Security contexts, and what an operating system named in ``spec.os`` rules out."""

import re
from collections.abc import Iterator
from typing import Any, Final

from winkube.api import names
from winkube.api.validation.common import check_descending, check_id, check_one_of
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
_POD_FORBIDDEN: Final = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy",
    "sysctls", "runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy",
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
    for field, choices in (
        ("fsGroupChangePolicy", ("Always", "OnRootMismatch")),
        ("supplementalGroupsPolicy", ("Merge", "Strict")),
        ("seLinuxChangePolicy", ("MountOption", "Recursive")),
    ):
        if context.get(field) is not None:
            check_one_of(context[field], choices, f"{here}.{field}", problems)
    _check_profiles(context, here, problems)
    _check_host_users(spec, path, problems)


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


def _check_host_users(spec: JsonObject, path: str, problems: Problems) -> None:
    if spec.get("hostUsers") is not False:
        return
    # Upstream spells two of the three paths with a capital.
    shown_as = {"hostNetwork": "hostNetwork", "hostPID": "HostPID", "hostIPC": "HostIPC"}
    for field, shown in shown_as.items():
        if spec.get(field):
            problems.forbidden(f"{path}.{shown}", "when `hostUsers` is false")


def check_container_security(context: JsonObject | None, path: str, problems: Problems) -> None:
    if not context:
        return
    for field in ("runAsUser", "runAsGroup"):
        check_id(context.get(field), f"{path}.{field}", problems)
    if context.get("procMount") is not None:
        check_one_of(context["procMount"], ("Default", "Unmasked"), f"{path}.procMount", problems)
    _check_profiles(context, path, problems)
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            problems.invalid(
                path,
                context,
                "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
            )
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            problems.invalid(
                path,
                context,
                "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` "
                "CAP_SYS_ADMIN",
            )


def _check_profiles(context: JsonObject, path: str, problems: Problems) -> None:
    for field, word in (("seccompProfile", "seccomp"), ("appArmorProfile", "AppArmor")):
        profile = context.get(field)
        if profile is not None:
            _check_profile(profile, word, f"{path}.{field}", problems)
    check_windows_options(context.get("windowsOptions"), f"{path}.windowsOptions", problems)


def _check_profile(profile: JsonObject, word: str, path: str, problems: Problems) -> None:
    kinds = ("Localhost", "RuntimeDefault", "Unconfined")
    check_one_of(profile.get("type"), kinds, f"{path}.type", problems)
    local, here = profile.get("localhostProfile"), f"{path}.localhostProfile"
    if profile.get("type") != "Localhost":
        if local is not None:
            problems.invalid(here, profile, f"can only be set when {word} type is Localhost")
    elif local is None:
        problems.required(here, f"must be set when {word} type is Localhost")
    else:
        check_descending(local, here, problems)


def check_windows_options(options: JsonObject | None, path: str, problems: Problems) -> None:
    if not options:
        return
    name = options.get("gmsaCredentialSpecName")
    if name is not None:
        details = names.dns_subdomain_problems(name)
        problems.all_invalid(f"{path}.gmsaCredentialSpecName", name, details)
    spec, here = options.get("gmsaCredentialSpec"), f"{path}.gmsaCredentialSpec"
    if spec == "":
        problems.invalid(here, spec, "gmsaCredentialSpec cannot be an empty string")
    elif spec is not None and len(spec.encode()) > _SPEC_BYTES:
        problems.invalid(here, spec, "gmsaCredentialSpec size must be under 64 KiB")
    user = options.get("runAsUserName")
    if user is not None:
        problems.all_invalid(f"{path}.runAsUserName", user, _user_name_problems(user))


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
    if spec.get("resources") is not None:
        problems.forbidden(f"{path}.resources", "may not be set for a windows pod")
    context = spec.get("securityContext") or {}
    _forbid(context, _POD_FORBIDDEN, f"{path}.securityContext", problems)
    for field in ("hostPID", "hostIPC"):
        if spec.get(field):
            problems.forbidden(f"{path}.{field}", _NOT_WINDOWS)
    # Set at all, even to false.
    _forbid(spec, ("hostUsers", "shareProcessNamespace"), path, problems)
    for container, here in each_container(spec, path):
        own = container.get("securityContext") or {}
        _forbid(own, _CONTAINER_FORBIDDEN, f"{here}.securityContext", problems)


def _forbid(holder: JsonObject, fields: tuple[str, ...], path: str, problems: Problems) -> None:
    for field in fields:
        if holder.get(field) is not None:
            problems.forbidden(f"{path}.{field}", _NOT_WINDOWS)
