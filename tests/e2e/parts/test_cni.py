import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from winkube.cni.install import install_plugins
from winkube.testing.hns_host import LOCAL, HnsHost

pytestmark = pytest.mark.root
Json = dict[str, Any]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[HnsHost]:
    with HnsHost("wkt-cni", tmp_path).up() as host:
        install_plugins(tmp_path / "bin", hns_socket=tmp_path / "hns.sock")
        yield host


def conf(host: HnsHost, **more: Any) -> Json:
    ipam = {"type": "host-local", "subnet": f"{LOCAL}.0/24", "dataDir": str(host.folder / "ipam")}
    base: Json = {"cniVersion": "1.0.0", "name": "cbr0", "type": "win-bridge", "apiVersion": 2}
    policies = [{"name": "EndpointPolicy", "value": host.nat_policy()}]
    return {**base, "ipam": {**ipam, "rangeStart": f"{LOCAL}.3"}, "policies": policies, **more}


def call(host: HnsHost, command: str, document: Json, **environ: str) -> tuple[int, Json]:
    path = host.folder / "bin"
    variables = {"CNI_COMMAND": command, "CNI_PATH": str(path), "CNI_IFNAME": "eth0", **environ}
    done = subprocess.run(
        [path / document["type"]],
        input=json.dumps(document),
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout) if done.stdout else {}


def test_a_pod_is_added_checked_and_deleted_by_the_installed_program(host: HnsHost) -> None:
    namespace = host.client.create("Namespace", {})
    netns = Path(namespace["AdditionalParams"]["netns"]).name
    ids = {"CNI_CONTAINERID": "abc", "CNI_NETNS": namespace["ID"]}
    dns = {"servers": ["10.96.0.10"], "searches": ["default.svc.cluster.local"]}
    document = conf(host, capabilities={"dns": True}, runtimeConfig={"dns": dns})
    code, result = call(host, "ADD", document, **ids)
    assert code == 0, result
    assert result["ips"] == [{"address": f"{LOCAL}.3/24", "gateway": f"{LOCAL}.2"}]
    assert result["interfaces"][0]["name"] == "abc_cbr0"
    assert result["dns"] == {"nameservers": dns["servers"], "search": dns["searches"]}
    assert host.pings(netns, host.node_ip)
    assert call(host, "ADD", document, **ids) == (0, result)
    assert call(host, "CHECK", document, **ids) == (0, {})
    for _ in range(2):
        assert call(host, "DEL", document, **ids) == (0, {})
    assert host.client.list("Endpoint", {"Name": "abc_cbr0"}) == []
    assert not (host.folder / "ipam/cbr0" / f"{LOCAL}.3").exists()


def test_the_first_address_of_a_bare_range_is_refused_and_the_next_try_works(
    host: HnsHost,
) -> None:
    namespace = host.client.create("Namespace", {})
    ids = {"CNI_CONTAINERID": "abc", "CNI_NETNS": namespace["ID"]}
    document = conf(host)
    del document["ipam"]["rangeStart"]
    code, error = call(host, "ADD", document, **ids)
    assert code == 1
    assert error["code"] == 999
    assert "The object already exists. (0x1392)" in error["msg"]
    code, result = call(host, "ADD", document, **ids)
    assert code == 0
    assert result["ips"][0]["address"] == f"{LOCAL}.3/24"


def test_an_add_is_quick(host: HnsHost) -> None:
    times = []
    for number in range(6):
        namespace = host.client.create("Namespace", {})
        ids = {"CNI_CONTAINERID": f"c{number}", "CNI_NETNS": namespace["ID"]}
        started = time.monotonic()
        assert call(host, "ADD", conf(host), **ids)[0] == 0
        times.append(time.monotonic() - started)
    # The goal is 120 ms on a quiet machine; a busy one may take longer, a broken one does not.
    assert min(times) < 0.25


def test_version_and_errors_follow_the_specification(host: HnsHost) -> None:
    code, answer = call(host, "VERSION", {"type": "win-bridge"})
    assert (code, answer["supportedVersions"][-1]) == (0, "1.1.0")
    code, error = call(host, "ADD", conf(host), CNI_CONTAINERID="abc", CNI_NETNS="")
    assert (code, error["code"]) == (1, 4)
    code, error = call(
        host, "ADD", conf(host, cniVersion="9.9.9"), CNI_CONTAINERID="a", CNI_NETNS="x"
    )
    assert (code, error["code"]) == (1, 1)
    code, error = call(host, "ADD", conf(host, name="nope"), CNI_CONTAINERID="a", CNI_NETNS="x")
    assert (code, error["code"]) == (1, 999)
    assert 'Network name "nope" not found' in error["msg"]


def test_api_version_one_attaches_by_container(host: HnsHost) -> None:
    namespace = host.client.create("Namespace", {})
    request = {"ResourceType": "Container", "RequestType": "Add"}
    settings = {"ContainerId": "infra"}
    host.client.modify("Namespace", namespace["ID"], {**request, "Settings": settings})
    nat = {"Type": "OutBoundNAT", "ExceptionList": ["10.244.0.0/16"]}
    policies = [{"Name": "endpointpolicy", "Value": nat}]
    document = conf(host, apiVersion=1, cniVersion="0.2.0", policies=policies)
    code, result = call(host, "ADD", document, CNI_CONTAINERID="infra", CNI_NETNS="none")
    assert (code, result["ip4"]["ip"]) == (0, f"{LOCAL}.3/24")
    again = {"CNI_CONTAINERID": "work", "CNI_NETNS": "container:infra"}
    assert call(host, "ADD", document, **again)[1]["ip4"] == result["ip4"]
    assert call(host, "DEL", document, CNI_CONTAINERID="infra", CNI_NETNS="none")[0] == 0
    assert host.client.list("Endpoint", {"Name": "infra_cbr0"}) == []
