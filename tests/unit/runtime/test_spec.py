import json
from pathlib import Path

from winkube.runtime.spec import Bind, ContainerSpec, Limits, plan_resources, to_spec


def make() -> ContainerSpec:
    return ContainerSpec(
        rootfs=Path("/r"),
        args=["/usr/lib/wine/wine64"],
        hostname="web-0",
        netns=Path("/run/netns/x"),
        cgroup="/p/s/c",
        user="ContainerUser",
        binds=[Bind("/a", "/b", read_only=True)],
    )


def test_a_container_has_no_capabilities_and_its_own_namespaces() -> None:
    spec = to_spec(make())
    assert not any(spec["process"]["capabilities"].values())
    assert spec["process"]["noNewPrivileges"] is True
    assert spec["process"]["user"]["uid"] > 0
    kinds = {item["type"] for item in spec["linux"]["namespaces"]}
    assert kinds == {"pid", "ipc", "uts", "mount", "cgroup", "network"}
    assert spec["linux"]["seccomp"]["defaultAction"] == "SCMP_ACT_ERRNO"
    json.dumps(spec)


def test_read_only_volumes_are_mounted_read_only() -> None:
    mount = to_spec(make())["mounts"][-1]
    assert (mount["destination"], mount["options"][-1]) == ("/b", "ro")


def test_the_hard_cap_is_a_part_of_all_processors() -> None:
    # 25 percent of 4 processors is one processor
    cpu = plan_resources(Limits(cpu_maximum=2500), cpus=4)["cpu"]
    assert cpu == {"quota": 100_000, "period": 100_000}


def test_memory_and_processor_count_become_limits() -> None:
    resources = plan_resources(Limits(cpu_count=2, memory_bytes=64 << 20), cpus=4)
    assert resources["cpu"]["quota"] == 200_000
    assert resources["memory"] == {"limit": 64 << 20}
