"""The checks of the Pod Security Standards: each says what is wrong with a pod, or nothing.

Facts (k8s.io/pod-security-admission: policy/): names, versions, allowed values and sentences.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from winkube.base.types import JsonObject


class Violation(NamedTuple):
    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


# A pod's metadata and spec.
Check = Callable[[JsonObject, JsonObject], Violation | None]


def containers(spec: JsonObject) -> Iterator[JsonObject]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(field) or ()


def context(part: JsonObject) -> JsonObject:
    """A pod's or a container's security context."""
    return part.get("securityContext") or {}


def is_windows(spec: JsonObject) -> bool:
    return (spec.get("os") or {}).get("name") == "windows"


def quoted(items: Iterable[str]) -> str:
    return ", ".join(f'"{item}"' for item in items)


def plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def named(names: list[str]) -> str:
    return f"{plural('container', len(names))} {quoted(names)}"


def setters_of(spec: JsonObject, is_bad: Callable[[JsonObject], bool]) -> list[str]:
    """Whose security context is bad: the pod's, and those of containers."""
    found = ["pod"] if is_bad(context(spec)) else []
    bad = [container["name"] for container in containers(spec) if is_bad(context(container))]
    return [*found, named(bad)] if bad else found


def bad_containers(spec: JsonObject, is_bad: Callable[[JsonObject], bool]) -> list[str]:
    return [container["name"] for container in containers(spec) if is_bad(context(container))]


_ARMOR_NOTE: Final = "container.apparmor.security.beta.kubernetes.io/"


def app_armor(metadata: JsonObject, spec: JsonObject) -> Violation | None:
    values: set[str] = set()

    def is_bad(security: JsonObject) -> bool:
        profile = security.get("appArmorProfile")
        if profile is None or profile.get("type") in ("RuntimeDefault", "Localhost"):
            return False
        values.add(profile.get("type") or "")
        return True

    setters = setters_of(spec, is_bad)
    notes = sorted(
        f'{key}="{value}"'
        for key, value in (metadata.get("annotations") or {}).items()
        if key.startswith(_ARMOR_NOTE)
        and value not in ("", "runtime/default")
        and not value.startswith("localhost/")
    )
    shown = [*sorted(values), *notes]
    if notes:
        setters.append(plural("annotation", len(notes)))
    if not setters:
        return None
    reason = plural("forbidden AppArmor profile", len(shown))
    detail = f"{' and '.join(setters)} must not set AppArmor profile type to {quoted(shown)}"
    return Violation(reason, detail)


_CAPABILITIES: Final = frozenset(
    ("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
     "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT")
)  # fmt: skip


def capabilities_baseline(metadata: JsonObject, spec: JsonObject) -> Violation | None:
    bad, extra = added(spec, _CAPABILITIES)
    if not bad:
        return None
    return Violation("non-default capabilities", must_not_add(bad, extra))


def added(spec: JsonObject, allowed: frozenset[str]) -> tuple[list[str], set[str]]:
    """Containers that add more than is allowed, and what they add."""
    bad, extra = [], set()
    for container in containers(spec):
        wanted = set((context(container).get("capabilities") or {}).get("add") or ())
        if wanted - allowed:
            bad.append(container["name"])
            extra |= wanted - allowed
    return bad, extra


def must_not_add(bad: list[str], extra: set[str]) -> str:
    added = quoted(sorted(extra))
    return f"{named(bad)} must not include {added} in securityContext.capabilities.add"


def host_namespaces(metadata: JsonObject, spec: JsonObject) -> Violation | None:
    used = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if spec.get(field)]
    return Violation("host namespaces", ", ".join(used)) if used else None


def host_paths(metadata: JsonObject, spec: JsonObject) -> Violation | None:
    bad = [volume["name"] for volume in spec.get("volumes") or () if "hostPath" in volume]
    if not bad:
        return None
    return Violation("hostPath volumes", f"{plural('volume', len(bad))} {quoted(bad)}")


def host_ports(metadata: JsonObject, spec: JsonObject) -> Violation | None:
    bad, ports = [], set()
    for container in containers(spec):
        used = {
            str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")
        }
        if used:
            bad.append(container["name"])
            ports |= used
    if not bad:
        return None
    what = f"{uses(bad)} {plural('hostPort', len(ports))}"
    return Violation("hostPort", f"{named(bad)} {what} {', '.join(sorted(ports))}")


def uses(bad: list[str]) -> str:
    return "uses" if len(bad) == 1 else "use"


_HOOKS: Final = (
    ("livenessProbe",), ("readinessProbe",), ("startupProbe",),
    ("lifecycle", "postStart"), ("lifecycle", "preStop"),
)  # fmt: skip


def probe_hosts(metadata: JsonObject, spec: JsonObject) -> Violation | None:
    bad: set[str] = set()
    hosts: set[str] = set()
    for container in containers(spec):
        found = set(_hook_hosts(container))
        if found:
            bad.add(container["name"])
            hosts |= found
    if not bad:
        return None
    what = f"{uses(sorted(bad))} {plural('probe or lifecycle host', len(hosts))}"
    return Violation(
        "probe or lifecycle host", f"{named(sorted(bad))} {what} {quoted(sorted(hosts))}"
    )


def _hook_hosts(container: JsonObject) -> Iterator[str]:
    for path in _HOOKS:
        hook: Any = container
        for name in path:
            hook = (hook or {}).get(name)
        for action in ("httpGet", "tcpSocket"):
            host = ((hook or {}).get(action) or {}).get("host")
            if host:
                yield host


def privileged(metadata: JsonObject, spec: JsonObject) -> Violation | None:
    bad = bad_containers(spec, lambda security: bool(security.get("privileged")))
    if not bad:
        return None
    return Violation("privileged", f"{named(bad)} must not set securityContext.privileged=true")


def proc_mount(metadata: JsonObject, spec: JsonObject) -> Violation | None:
    types: set[str] = set()

    def is_bad(security: JsonObject) -> bool:
        kind = security.get("procMount")
        if kind in (None, "Default"):
            return False
        types.add(str(kind))
        return True

    bad = bad_containers(spec, is_bad)
    if not bad:
        return None
    detail = f"{named(bad)} must not set securityContext.procMount to {quoted(sorted(types))}"
    return Violation("procMount", detail)


_SELINUX: Final = frozenset(("", "container_t", "container_init_t", "container_kvm_t"))


def selinux(metadata: JsonObject, spec: JsonObject) -> Violation | None:
    return _selinux(spec, _SELINUX)


def selinux_31(metadata: JsonObject, spec: JsonObject) -> Violation | None:
    return _selinux(spec, _SELINUX | {"container_engine_t"})


def _selinux(spec: JsonObject, allowed: frozenset[str]) -> Violation | None:
    types: set[str] = set()
    others: set[str] = set()

    def is_bad(security: JsonObject) -> bool:
        options = security.get("seLinuxOptions") or {}
        kind = options.get("type") or ""
        used = {field for field in ("user", "role") if options.get(field)}
        others.update(used)
        if kind not in allowed:
            types.add(kind)
        return bool(used or kind not in allowed)

    setters = setters_of(spec, is_bad)
    if not setters:
        return None
    said = [f"{plural('type', len(types))} {quoted(sorted(types))}"] if types else []
    said += [f"{field} may not be set" for field in ("user", "role") if field in others]
    detail = f"{' and '.join(setters)} set forbidden securityContext.seLinuxOptions: "
    return Violation("seLinuxOptions", detail + "; ".join(said))


_SYSCTLS: Final = frozenset(
    ("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
     "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start")
)  # fmt: skip
_SYSCTLS_27: Final = _SYSCTLS | {"net.ipv4.ip_local_reserved_ports"}
_SYSCTLS_29: Final = _SYSCTLS_27 | {
    f"net.ipv4.tcp_{name}"
    for name in ("keepalive_time", "fin_timeout", "keepalive_intvl", "keepalive_probes")
}
_SYSCTLS_32: Final = _SYSCTLS_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}


def sysctls(allowed: frozenset[str]) -> Check:
    def check(metadata: JsonObject, spec: JsonObject) -> Violation | None:
        wanted = [entry.get("name") or "" for entry in context(spec).get("sysctls") or ()]
        bad = [name for name in wanted if name not in allowed]
        return Violation("forbidden sysctls", ", ".join(bad)) if bad else None

    return check


sysctls_0: Final = sysctls(_SYSCTLS)
sysctls_27: Final = sysctls(_SYSCTLS_27)
sysctls_29: Final = sysctls(_SYSCTLS_29)
sysctls_32: Final = sysctls(_SYSCTLS_32)


def host_process(metadata: JsonObject, spec: JsonObject) -> Violation | None:
    setters = setters_of(
        spec, lambda security: bool((security.get("windowsOptions") or {}).get("hostProcess"))
    )
    if not setters:
        return None
    text = "must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", f"{' and '.join(setters)} {text}")
