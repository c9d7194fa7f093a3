"""Which processes a cluster has, and in which order they start."""

from pathlib import Path

import pytest

from winkube.base.paths import Home
from winkube.cluster.components import plan_components
from winkube.cluster.errors import StartError
from winkube.cluster.pki import plan_identities
from winkube.cluster.simulation import Simulation
from winkube.cluster.spec import ClusterSpec, plan_nodes
from winkube.cluster.state import ClusterState


def make_state(tmp_path: Path) -> ClusterState:
    home = Home(tmp_path / "state", tmp_path / "run")
    return ClusterState(ClusterSpec(nodes=plan_nodes(2, 1)), "172.30.1.0/24", 6443, home)


def test_what_others_wait_for_longest_starts_first(tmp_path: Path) -> None:
    components = plan_components(make_state(tmp_path))
    names = [component.name for component in components]
    assert names[:4] == ["apiserver", "containerd-lin-1", "containerd-lin-2", "controllers"]
    assert names[-1] == "guard"
    assert len(set(names)) == len(names)
    assert [component.name for component in components if component.urgent] == ["apiserver"]


class EndError(Exception):
    pass


def test_the_guard_goes_on_with_the_supervisor_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Supervisors may be killed one after the other, each before it has a guard of its own."""
    state = make_state(tmp_path)
    records = state.paths.run / "pids"
    records.mkdir(parents=True)
    started: list[ClusterState] = []

    def spawn(of: ClusterState) -> None:
        started.append(of)
        if len(started) == 2:
            raise StartError("the supervisor", 1.0)
        if len(started) == 4:
            records.rmdir()  # as ``down`` does

    def leave(code: int) -> None:
        raise EndError

    monkeypatch.setattr("winkube.cluster.daemon.spawn_supervisor", spawn)  # it would fork us
    monkeypatch.setattr("os._exit", leave)
    guard = next(each for each in plan_components(state) if each.name == "guard")
    with pytest.raises(EndError):
        guard.main()
    assert started == [state] * 4


def test_simulated_nodes_are_one_more_process_and_one_more_identity(tmp_path: Path) -> None:
    home = Home(tmp_path / "state", tmp_path / "run")
    spec = ClusterSpec(nodes=plan_nodes(1, 0))
    without = ClusterState(spec, "172.30.1.0/24", 6443, home)
    with_some = ClusterState(spec, "172.30.1.0/24", 6443, home, Simulation(linux=5))
    names = [{part.name for part in plan_components(state)} for state in (without, with_some)]
    assert names[1] - names[0] == {"simulated-nodes"}
    files = [{each.file for each in plan_identities(state)} for state in (without, with_some)]
    assert files[1] - files[0] == {"simulated-nodes"}
