"""A Windows image of one's own: built with mingw, loaded from a file or pulled with a secret."""

import json
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.harness import Cluster, eventually
from tests.e2e.runtime_harness import PASSWORD, USER, closed_registry, push

from winkube.runtime.oci.model import ImageConfig
from winkube.testing.archive import ArchiveFile, ArchiveImage, write_archive

pytestmark = pytest.mark.root

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    char text[64] = "";
    FILE *file = fopen("C:\\\\app\\\\hello.txt", "r");
    if (!file || !fgets(text, sizeof text, file)) return 7;
    printf("%s from %s with %s\n", text, getenv("COMPUTERNAME"), argc > 1 ? argv[1] : "nothing");
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("hello")
    (folder / "hello.c").write_text(SOURCE)
    argv = ["x86_64-w64-mingw32-gcc", "-O1", "-s", "-o", "hello.exe", "hello.c"]
    subprocess.run(argv, cwd=folder, check=True)
    return (folder / "hello.exe").read_bytes()


def build(path: Path, name: str, program: bytes, words: str, version: str = "10.0.17763.1") -> Path:
    files = {
        "Files/app/hello.txt": ArchiveFile(words.encode()),
        "Files/app/hello.exe": ArchiveFile(program, 0o755),
    }
    config = ImageConfig(
        os_version=version,
        entrypoint=("C:\\app\\hello.exe",),
        cmd=("care",),
        working_dir="C:\\app",
    )
    write_archive(path, ArchiveImage(name, config, (files,)))
    return path


def pod(name: str, image: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": image}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"restartPolicy": "Never", "containers": [container], **spec},
    }


@pytest.fixture
def fresh(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster; the pods and secrets that the test makes are labelled by their names only."""
    yield cluster
    cluster.kubectl("delete", "pod", "hello", "--now", "--ignore-not-found")
    cluster.kubectl("delete", "secret", "right", "wrong", "--ignore-not-found")


def output(cluster: Cluster, name: str) -> str:
    def check() -> bool:
        status = cluster.get("pod", name)["status"]
        assert status["phase"] == "Succeeded", status
        return True

    eventually(check, seconds=60)
    return cluster.kubectl("logs", name).stdout.strip()


def test_an_image_loaded_from_a_file_runs(fresh: Cluster, tmp_path: Path, program: bytes) -> None:
    words = secrets.token_hex(4)
    archive = build(tmp_path / "hello.tar", "example.com/hello:1", program, words)
    said = fresh.winkube("load", str(archive), "--name", fresh.name).stdout
    assert "win-1: example.com/hello:1" in said
    assert "win-2: example.com/hello:1" in said
    assert "lin-1" not in said
    assert "example.com/hello:1" in fresh.winkube("images", "--name", fresh.name).stdout
    windows = {"kubernetes.io/os": "windows"}
    fresh.apply(pod("hello", "example.com/hello:1", nodeSelector=windows))
    assert output(fresh, "hello") == f"{words} from HELLO with care"


def test_an_image_of_another_build_is_not_loaded(
    cluster: Cluster, tmp_path: Path, program: bytes
) -> None:
    name = "example.com/other:1"
    archive = build(tmp_path / "other.tar", name, program, "x", version="10.0.20348.1")
    done = cluster.winkube("load", str(archive), "--name", cluster.name, check=False)
    assert done.returncode != 0
    assert "does not match the host operating system" in done.stderr
    assert name not in cluster.winkube("images", "--name", cluster.name).stdout


def secret(name: str, host: str, password: str) -> dict[str, Any]:
    auths = {host: {"username": USER, "password": password}}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": json.dumps({"auths": auths})},
    }


def pull_events(cluster: Cluster) -> str:
    events = cluster.get("events", "--field-selector=involvedObject.name=hello")["items"]
    return " ".join(event["message"] for event in events if event["type"] == "Warning")


def test_a_secret_opens_a_registry(fresh: Cluster, tmp_path: Path, program: bytes) -> None:
    words = secrets.token_hex(4)
    inside = ("ip", "netns", "exec", f"wk-{fresh.name}-win-1")
    with closed_registry(tmp_path, inside=inside) as host:
        name = f"{host}/team/hello:1"
        archive = build(tmp_path / "hello.tar", name, program, words)
        push(archive, name, f"--dest-creds={USER}:{PASSWORD}", inside=inside)
        fresh.apply(secret("right", host, PASSWORD), secret("wrong", host, "wrong"))
        place: dict[str, Any] = {"nodeSelector": {"kubernetes.io/hostname": "win-1"}}
        fresh.apply(pod("hello", name, imagePullSecrets=[{"name": "wrong"}], **place))
        assert eventually(lambda: "pull access denied" in pull_events(fresh), seconds=30)
        waiting = fresh.get("pod", "hello")["status"]["containerStatuses"][0]["state"]["waiting"]
        assert waiting["reason"] in ("ErrImagePull", "ImagePullBackOff")
        fresh.kubectl("delete", "pod", "hello", "--now")
        fresh.apply(pod("hello", name, imagePullSecrets=[{"name": "right"}], **place))
        assert output(fresh, "hello") == f"{words} from HELLO with care"
