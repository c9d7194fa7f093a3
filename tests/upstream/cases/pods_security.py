"""Security contexts, operating systems, namespaces of the host."""

from typing import Any

from tests.upstream.variants import containers, pods

PROFILES: tuple[dict[str, Any], ...] = (
    {},
    {"type": "RuntimeDefault"},
    {"type": "Unconfined"},
    {"type": "Localhost"},
    {"type": "Localhost", "localhostProfile": ""},
    {"type": "Localhost", "localhostProfile": " "},
    {"type": "Localhost", "localhostProfile": " a"},
    {"type": "Localhost", "localhostProfile": "a"},
    {"type": "Localhost", "localhostProfile": "/a"},
    {"type": "Localhost", "localhostProfile": "../a"},
    {"type": "Localhost", "localhostProfile": "a" * 4096},
    {"type": "RuntimeDefault", "localhostProfile": "a"},
    {"type": "Wrong"},
)
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"gmsaCredentialSpecName": "a"},
    {"gmsaCredentialSpecName": ""},
    {"gmsaCredentialSpecName": "A_"},
    {"gmsaCredentialSpec": ""},
    {"gmsaCredentialSpec": "x"},
    {"gmsaCredentialSpec": "x" * 65537},
    {"runAsUserName": ""},
    {"runAsUserName": "ContainerUser"},
    {"runAsUserName": "NT AUTHORITY\\SYSTEM"},
    {"runAsUserName": "a\\b\\c"},
    {"runAsUserName": "a\tb"},
    {"runAsUserName": "\\a"},
    {"runAsUserName": "d\\"},
    {"runAsUserName": "d" * 257 + "\\u"},
    {"runAsUserName": "d.e.f\\u"},
    {"runAsUserName": ".d\\u"},
    {"runAsUserName": "-d-.com\\u"},
    {"runAsUserName": "u" * 105},
    {"runAsUserName": "..."},
    {"runAsUserName": "a/b"},
    {"runAsUserName": "d\\a:b;c"},
    {"hostProcess": True},
    {"hostProcess": False},
)
IDS: tuple[dict[str, Any], ...] = (
    {"runAsUser": -1},
    {"runAsUser": 0},
    {"runAsUser": 1 << 31},
    {"runAsGroup": -1},
    {"runAsGroup": 1000},
    {"runAsNonRoot": True},
    {"runAsNonRoot": True, "runAsUser": 0},
    {"seLinuxOptions": {"level": "s0"}},
)
# Each of these is refused for a Windows pod.
LINUX_POD: tuple[dict[str, Any], ...] = (
    {"seLinuxOptions": {}},
    {"seccompProfile": {"type": "RuntimeDefault"}},
    {"appArmorProfile": {"type": "RuntimeDefault"}},
    {"fsGroup": 1},
    {"fsGroupChangePolicy": "Always"},
    {"sysctls": [{"name": "a", "value": "b"}]},
    {"sysctls": []},
    {"runAsUser": 1},
    {"runAsGroup": 1},
    {"supplementalGroups": [1]},
    {"supplementalGroupsPolicy": "Merge"},
    {"seLinuxChangePolicy": "Recursive"},
    {"runAsNonRoot": True},
    {"windowsOptions": {"runAsUserName": "a"}},
    {"runAsUser": 1, "fsGroup": 1, "seLinuxOptions": {}, "supplementalGroups": [1]},
)
LINUX_CONTAINER: tuple[dict[str, Any], ...] = (
    {"seLinuxOptions": {}},
    {"seccompProfile": {"type": "RuntimeDefault"}},
    {"appArmorProfile": {"type": "RuntimeDefault"}},
    {"capabilities": {}},
    {"capabilities": {"add": ["NET_ADMIN"]}},
    {"readOnlyRootFilesystem": False},
    {"privileged": False},
    {"allowPrivilegeEscalation": False},
    {"procMount": "Default"},
    {"runAsUser": 1},
    {"runAsGroup": 1},
    {"runAsNonRoot": False},
    {"privileged": True, "runAsUser": 1, "procMount": "Default", "capabilities": {}},
)
HOST: tuple[dict[str, Any], ...] = (
    {"hostPID": True},
    {"hostIPC": True},
    {"hostPID": False, "hostIPC": False},
    {"hostNetwork": True},
    {"shareProcessNamespace": False},
    {"shareProcessNamespace": True},
    {"hostUsers": True},
    {"hostUsers": False},
    {"resources": {"limits": {"cpu": "1"}}},
    {"hostPID": True, "hostIPC": True, "hostUsers": False, "shareProcessNamespace": True},
)
WINDOWS = {"os": {"name": "windows"}}


def _sysctl(*names: str) -> dict[str, Any]:
    return {"securityContext": {"sysctls": [{"name": name, "value": "1"} for name in names]}}


CASES = [
    pods("operating systems", {"os": {}}, {"os": {"name": "darwin"}}, {"os": {"name": "Linux"}}),
    pods("pod ids", *({"securityContext": row} for row in IDS)),
    containers("container ids", *({"securityContext": row} for row in IDS)),
    *(
        pods(f"{field} of a pod", *({"securityContext": {field: row}} for row in PROFILES))
        for field in ("seccompProfile", "appArmorProfile")
    ),
    *(
        containers(
            f"{field} of a container", *({"securityContext": {field: row}} for row in PROFILES)
        )
        for field in ("seccompProfile", "appArmorProfile")
    ),
    pods("windows options", *({"securityContext": {"windowsOptions": row}} for row in OPTIONS)),
    containers(
        "windows options of a container",
        *({"securityContext": {"windowsOptions": row}} for row in OPTIONS),
        spec=WINDOWS,
    ),
    pods(
        "host processes",
        *(
            {
                "securityContext": {"windowsOptions": {"hostProcess": whole}},
                "hostNetwork": network,
                "containers": [
                    {
                        "name": name,
                        "image": "i",
                        "securityContext": {"windowsOptions": {"hostProcess": own}},
                    }
                    for name, own in (("a", first), ("b", second))
                ],
            }
            for whole, first, second, network in (
                (True, True, True, True),
                (True, True, True, False),
                (True, False, True, True),
                (None, True, False, True),
                (None, True, None, False),
                (False, True, False, True),
                (True, None, None, True),
            )
        ),
    ),
    pods("linux pod on windows", *({**WINDOWS, "securityContext": row} for row in LINUX_POD)),
    containers(
        "linux container on windows",
        *({"securityContext": row} for row in LINUX_CONTAINER),
        spec=WINDOWS,
    ),
    pods(
        "linux init container on windows",
        *(
            {**WINDOWS, "initContainers": [{"name": "i", "image": "i", "securityContext": row}]}
            for row in LINUX_CONTAINER[:3]
        ),
    ),
    pods("host namespaces of windows", *({**WINDOWS, **row} for row in HOST)),
    pods("host namespaces", *HOST),
    pods(
        "host namespaces with users",
        {"hostUsers": False, "hostNetwork": True},
        {"hostUsers": False, "hostPID": True},
        {"hostUsers": False, "hostIPC": True},
        {"hostUsers": False, "hostPID": True, "hostIPC": True, "hostNetwork": True},
        {"shareProcessNamespace": True, "hostPID": True},
    ),
    pods(
        "windows options on linux",
        {"os": {"name": "linux"}, "securityContext": {"windowsOptions": {"runAsUserName": "a"}}},
        {"os": {"name": "linux"}, "securityContext": {"windowsOptions": {}}},
        {
            "os": {"name": "linux"},
            "containers": [
                {"name": "c", "image": "i", "securityContext": {"windowsOptions": {}}},
            ],
            "initContainers": [
                {"name": "i", "image": "i", "securityContext": {"windowsOptions": {}}},
            ],
        },
    ),
    containers(
        "privileges",
        {"securityContext": {}},
        {"securityContext": {"privileged": True}},
        {"securityContext": {"privileged": True, "allowPrivilegeEscalation": False}},
        {"securityContext": {"allowPrivilegeEscalation": False}},
        {
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "capabilities": {"add": ["CAP_SYS_ADMIN"]},
            }
        },
        {"securityContext": {"capabilities": {"add": ["x"], "drop": ["ALL"]}}},
        {"securityContext": {"procMount": "Default"}},
        {"securityContext": {"procMount": "Unmasked"}},
        {"securityContext": {"procMount": "Odd"}},
        {"securityContext": {"procMount": ""}},
    ),
    containers(
        "unmasked proc with users of its own",
        {"securityContext": {"procMount": "Unmasked"}},
        spec={"hostUsers": False},
    ),
    pods(
        "groups",
        {"securityContext": {"fsGroup": -1}},
        {"securityContext": {"fsGroup": 5, "fsGroupChangePolicy": "OnRootMismatch"}},
        {"securityContext": {"fsGroupChangePolicy": "Never"}},
        {"securityContext": {"supplementalGroups": [-1, 5, 1 << 31]}},
        {"securityContext": {"supplementalGroups": []}},
        {"securityContext": {"supplementalGroups": []}, "os": {"name": "windows"}},
        {"securityContext": {"supplementalGroups": None}, "os": {"name": "windows"}},
        {"securityContext": {"supplementalGroupsPolicy": "Strict"}},
        {"securityContext": {"supplementalGroupsPolicy": "Loose"}},
        {"securityContext": {"seLinuxChangePolicy": "MountOption"}},
        {"securityContext": {"seLinuxChangePolicy": "Never"}},
    ),
    pods(
        "sysctls",
        _sysctl("kernel.shm_rmid_forced"),
        _sysctl("net/ipv4/ip_unprivileged_port_start"),
        _sysctl(""),
        _sysctl("A"),
        _sysctl("a..b"),
        _sysctl("a" * 254),
        _sysctl("a.b", "a.b"),
        _sysctl("net.a", "net/a"),
        {"hostNetwork": True, **_sysctl("net.a")},
        {"hostIPC": True, **_sysctl("kernel.shmmax", "fs.mqueue.x", "kernel.sem")},
    ),
]
