import socket
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from winkube.linux import cgroup, link, mount, nft
from winkube.linux.conntrack import Pattern, forget
from winkube.linux.netns import (
    call_in_netns,
    create_netns,
    delete_netns,
    list_netns,
    netns_exists,
    netns_path,
)

pytestmark = pytest.mark.root
GROUP = "/wkt-linux"
OWN = Path("/proc/thread-self/ns/net")


@pytest.fixture(autouse=True)
def clean(tmp_path: Path) -> Iterator[None]:
    yield
    mount.umount_all(tmp_path)
    for name in list_netns("wkt-l"):
        delete_netns(name)
    if cgroup.exists(GROUP):
        cgroup.kill_all(GROUP)
        cgroup.remove(GROUP)
    assert mount.list_mounts(tmp_path) == []


def test_an_overlay_with_more_layers_than_a_page_of_options(tmp_path: Path) -> None:
    layers = [tmp_path / ("long" * 30) / f"{number}" for number in range(60)]
    for layer in layers:
        layer.mkdir(parents=True)
        (layer / f"file-{layer.name}").write_text(layer.name)
    upper, work, target = (tmp_path / name for name in ("upper", "work", "merged"))
    upper.mkdir()
    work.mkdir()
    mount.mount_overlay(target, lower=layers, upper=upper, work=work)
    assert len(list(target.iterdir())) == 60
    (target / "new").write_text("x")
    assert (upper / "new").exists()
    assert mount.list_mounts(tmp_path) == [target]
    mount.umount(target)
    mount.umount(target)
    assert not mount.is_mounted(target)


def test_a_read_only_bind_mount(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target dir"
    source.mkdir()
    target.mkdir()
    mount.bind_mount(source, target, read_only=True)
    with pytest.raises(OSError, match="Read-only"):
        (target / "x").write_text("x")
    assert mount.umount_all(tmp_path) == [target]


def test_a_group_is_measured_killed_and_removed() -> None:
    cgroup.ensure(f"{GROUP}/a/b")
    process = subprocess.Popen(
        ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 60"]
    )
    reaper = threading.Thread(target=process.wait)
    cgroup.add(f"{GROUP}/a/b", process.pid)
    reaper.start()
    # It may have come as far as its child.
    assert process.pid in cgroup.pids(GROUP)
    assert cgroup.pids(GROUP, recursive=False) == []
    cgroup.kill_all(GROUP)
    reaper.join()
    assert cgroup.cpu_usage_ns(GROUP) >= 0
    assert cgroup.memory_usage(GROUP) >= cgroup.memory_working_set(GROUP)
    cgroup.remove(GROUP)
    cgroup.remove(GROUP)
    assert not cgroup.exists(GROUP)
    assert cgroup.cpu_usage_ns(GROUP) == 0


def test_a_namespace_survives_its_name_and_a_stray_file() -> None:
    netns_path("wkt-l1").parent.mkdir(parents=True, exist_ok=True)
    netns_path("wkt-l1").touch()
    assert not netns_exists("wkt-l1")
    assert create_netns("wkt-l1") == create_netns("wkt-l1")
    assert netns_exists("wkt-l1")
    here = OWN.stat().st_ino
    inside = call_in_netns(netns_path("wkt-l1"), lambda: OWN.stat().st_ino)
    assert inside != here == OWN.stat().st_ino
    for _ in range(2):
        delete_netns("wkt-l1")
    assert not netns_exists("wkt-l1")


def test_a_failure_inside_a_namespace_is_raised_here() -> None:
    create_netns("wkt-l2")
    with pytest.raises(ZeroDivisionError):
        call_in_netns(netns_path("wkt-l2"), lambda: 1 // 0)


def test_forgetting_flows_that_do_not_exist_is_fine() -> None:
    create_netns("wkt-l3")
    patterns = [Pattern(53, "10.0.0.1", target="10.0.0.2"), Pattern(53, "10.0.0.1")]
    call_in_netns(netns_path("wkt-l3"), lambda: forget(patterns))


@pytest.mark.parametrize(
    ("word", "address", "place"),
    [("ip", "10.99.0.1", "10.99.0.1"), ("ip6", "fd00:99::1", "[fd00:99::1]")],
)
def test_a_flow_that_is_forgotten_is_led_anew(word: str, address: str, place: str) -> None:
    netns = netns_path("wkt-l4")
    create_netns("wkt-l4")
    link.batch([f"address add {address} dev lo"], netns="wkt-l4")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET

    def open_socket(port: int) -> socket.socket:
        made = socket.socket(family, socket.SOCK_DGRAM)
        made.settimeout(0.5)
        made.bind((address, port))
        return made

    def lead_to(port: int) -> None:
        nft.delete_table(word, "flows", "wkt-l4")
        chain = f"type nat hook output priority -100; udp dport 53 dnat to {place}:{port};"
        nft.apply(f"table {word} flows {{\n chain out {{ {chain} }}\n}}\n", "wkt-l4")

    client, one, two = (call_in_netns(netns, partial(open_socket, p)) for p in (0, 8001, 8002))
    with client, one, two:
        for port, server in ((8001, one), (8002, one)):
            lead_to(port)
            client.sendto(b"x", (address, 53))
            assert server.recv(10) == b"x"
        call_in_netns(netns, lambda: forget([Pattern(53, address, target=address)]))
        client.sendto(b"x", (address, 53))
        assert two.recv(10) == b"x"
