"""Every folder of examples/ works as it stands: applied, ready, deleted."""

from pathlib import Path

import pytest
from tests.e2e.harness import EXAMPLES, Cluster, eventually

pytestmark = pytest.mark.root

CLUSTER_FILE = "cluster.yaml"
FOLDERS = sorted(path for path in EXAMPLES.iterdir() if path.is_dir())
SHARED = [folder for folder in FOLDERS if not (folder / CLUSTER_FILE).exists()]
OWN = [folder for folder in FOLDERS if (folder / CLUSTER_FILE).exists()]


def manifests(folder: Path) -> list[str]:
    files = sorted(path for path in folder.glob("*.yaml") if path.name != CLUSTER_FILE)
    assert files, f"{folder} has no manifest"
    return [word for path in files for word in ("-f", str(path))]


def use(cluster: Cluster, folder: Path) -> None:
    """Apply the folder in a namespace of its own, wait until all is ready, delete it."""
    space, files = f"example-{folder.name}", manifests(folder)
    cluster.kubectl("create", "namespace", space)
    try:
        eventually(lambda: cluster.get("serviceaccount", "default", "-n", space))
        cluster.kubectl("apply", "-n", space, *files)
        ready = ("wait", "--for=condition=Available", "deploy", "--all", "--timeout=90s")
        cluster.kubectl(*ready, "-n", space, timeout=100)
        assert "unchanged" in cluster.kubectl("apply", "-n", space, *files).stdout
        cluster.kubectl("delete", "-n", space, *files, "--timeout=60s")
        eventually(lambda: not cluster.get("pods", "-n", space)["items"])
    finally:
        cluster.kubectl("delete", "namespace", space, "--timeout=90s", check=False, timeout=100)


@pytest.mark.parametrize("folder", SHARED, ids=lambda folder: folder.name)
def test_an_example_becomes_ready(cluster: Cluster, folder: Path) -> None:
    use(cluster, folder)


@pytest.mark.parametrize("folder", OWN, ids=lambda folder: folder.name)
def test_an_example_with_its_own_cluster_becomes_ready(
    cluster: Cluster, folder: Path, tmp_path: Path
) -> None:
    own = Cluster("e2e-example", tmp_path / "config", cluster.program)
    try:
        own.winkube("up", "-f", str(folder / CLUSTER_FILE), "--name", own.name)
        use(own, folder)
    finally:
        own.winkube("down", "--name", own.name)
