"""What is kept about a cluster."""

from pathlib import Path

import pytest

from winkube.base.paths import Home
from winkube.cluster.errors import BusyError, NoSuchClusterError
from winkube.cluster.simulation import Simulation
from winkube.cluster.spec import ClusterSpec, plan_nodes
from winkube.cluster.state import ClusterState, exclusive, list_clusters, load_state


def test_a_saved_state_is_loaded_as_it_was(tmp_path: Path) -> None:
    home = Home(tmp_path / "state", tmp_path / "run")
    spec, simulation = ClusterSpec(nodes=plan_nodes(1, 2)), Simulation(3, 4, "ltsc2022")
    state = ClusterState(spec, "172.30.1.0/24", 6443, home, simulation)
    state.save()
    assert load_state(home, "winkube") == state
    assert list_clusters(home) == ["winkube"]


def test_an_unknown_or_damaged_cluster_is_named(tmp_path: Path) -> None:
    home = Home(tmp_path / "state", tmp_path / "run")
    with pytest.raises(NoSuchClusterError, match="demo"):
        load_state(home, "demo")
    home.cluster("demo").state.mkdir(parents=True)
    (home.cluster("demo").state / "cluster.json").write_text('{"spec":')
    with pytest.raises(NoSuchClusterError, match="demo"):
        load_state(home, "demo")


def test_one_command_at_a_time(tmp_path: Path) -> None:
    home = Home(tmp_path / "state", tmp_path / "run")
    with exclusive(home, "demo", "up"):
        with pytest.raises(BusyError, match="'winkube up'"), exclusive(home, "demo", "down"):
            pass
        with exclusive(home, "other", "up"):
            pass
    with exclusive(home, "demo", "down"):
        pass
