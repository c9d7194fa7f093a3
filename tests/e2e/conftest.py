"""One real cluster for the whole end-to-end run, and kubectl as its judge."""

import os
from collections.abc import Iterator

import pytest
from tests.e2e.harness import EXAMPLES, Cluster, find_kubectls


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("kube")
    kubectls = find_kubectls()
    assert kubectls, "no kubectl on the PATH: apt-get install kubernetes-client"
    # Under another name it runs beside other runs on the same machine.
    name = os.environ.get("WINKUBE_TEST_CLUSTER", "e2e")
    made = Cluster(name, folder / "config", kubectls[-1])
    made.winkube("down", "--name", made.name, check=False)
    try:
        made.winkube("up", "--name", made.name)
        yield made
    finally:
        logs = os.environ.get("WINKUBE_TEST_LOGS")
        if logs:
            made.winkube("export-logs", logs, "--name", made.name, check=False)
        made.winkube("down", "--name", made.name)


@pytest.fixture(scope="session")
def iis(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster with the IIS example running."""
    cluster.kubectl("apply", "-f", str(EXAMPLES / "iis"))
    cluster.kubectl("rollout", "status", "deploy/iis", "--timeout=180s", timeout=200)
    yield cluster
    cluster.kubectl("delete", "-f", str(EXAMPLES / "iis"), "--ignore-not-found")
