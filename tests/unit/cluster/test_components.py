"""Which processes a cluster has, and in which order they start."""

from pathlib import Path

from winkube.base.paths import Home
from winkube.cluster.components import plan_components
from winkube.cluster.spec import ClusterSpec, plan_nodes
from winkube.cluster.state import ClusterState


def test_what_others_wait_for_longest_starts_first(tmp_path: Path) -> None:
    home = Home(tmp_path / "state", tmp_path / "run")
    state = ClusterState(ClusterSpec(nodes=plan_nodes(2, 1)), "172.30.1.0/24", 6443, home)
    components = plan_components(state)
    names = [component.name for component in components]
    assert names[:4] == ["apiserver", "containerd-lin-1", "containerd-lin-2", "controllers"]
    assert names[-1] == "guard"
    assert len(set(names)) == len(names)
    assert [component.name for component in components if component.urgent] == ["apiserver"]
