"""The Windows rules as a Deployment: winkube in an image, its manifests, an API server that asks.

The cluster has the rules built in as well, in the same words. So what the webhook did is read from
its own counters, and from what happens when it is not there.
"""

import json
from collections.abc import Iterator

import pytest
from tests.e2e.harness import Cluster, eventually
from tests.e2e.python_image import write_winkube_image

pytestmark = pytest.mark.root

IMAGE = "winkube.test/winkube:1"
HOME = "winkube-webhook"
SPACE = "reviewed"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": SPACE},
    "spec": {"containers": [{"name": "c", "image": "mcr.microsoft.com/windows/nanoserver:1809"}]},
}


@pytest.fixture(scope="module")
def reviewed(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The webhook runs, without it nothing is written, and a namespace wants its pods placed."""
    archive = tmp_path_factory.mktemp("image") / "winkube.tar"
    write_winkube_image(archive, IMAGE)
    cluster.winkube("load", str(archive), "--name", cluster.name)
    archive.unlink()
    options = ("--image", IMAGE, "--failure-policy", "Fail", "--replicas", "1")
    manifests = cluster.winkube("webhook", "manifests", *options).stdout
    cluster.kubectl("create", "namespace", SPACE)
    cluster.kubectl("label", "namespace", SPACE, "winkube.dev/windows-admission=mutate")
    try:
        cluster.kubectl("apply", "-f", "-", stdin=manifests)
        wait = ("rollout", "status", f"deploy/{HOME}", "-n", HOME, "--timeout=240s")
        cluster.kubectl(*wait, timeout=250)
        yield cluster
    finally:
        cluster.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=manifests)
        cluster.kubectl("delete", "namespace", SPACE)


def write(cluster: Cluster, *, check: bool = True) -> tuple[int, str]:
    """What an author is told of a pod; nothing is kept."""
    words = ("create", "--dry-run=server", "-f", "-")
    done = cluster.kubectl(*words, stdin=json.dumps(POD), check=check)
    return done.returncode, done.stderr


def answers(cluster: Cluster, path: str) -> int:
    """How often the webhook was asked there, by its own count."""
    service = f"/api/v1/namespaces/{HOME}/services/https:{HOME}:https/proxy/metrics"
    lines = cluster.kubectl("get", "--raw", service).stdout.splitlines()
    counts = [line for line in lines if line.startswith("winkube_webhook_reviews_total")]
    return sum(int(float(line.split()[-1])) for line in counts if f'path="{path}"' in line)


def test_the_api_server_asks_the_deployment(reviewed: Cluster) -> None:
    before = answers(reviewed, "/mutate"), answers(reviewed, "/validate/mutate")
    write(reviewed)
    after = answers(reviewed, "/mutate"), answers(reviewed, "/validate/mutate")
    assert after == (before[0] + 1, before[1] + 1)


def test_while_it_is_gone_pods_cannot_be_written(reviewed: Cluster) -> None:
    scale = ("scale", f"deploy/{HOME}", "-n", HOME)
    reviewed.kubectl(*scale, "--replicas=0")

    def refusal() -> str:
        code, said = write(reviewed, check=False)
        return said if code else ""

    assert 'failed calling webhook "mutate.windows.winkube.dev"' in eventually(refusal)
    reviewed.kubectl(*scale, "--replicas=1")
    assert eventually(lambda: write(reviewed)[0] == 0, seconds=240)
