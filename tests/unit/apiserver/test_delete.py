from typing import Any

import pytest

from winkube.api.kinds import KINDS
from winkube.apiserver.cache import ResourceCache
from winkube.apiserver.delete_options import DeleteOptions
from winkube.apiserver.registry.delete import plan_deletion
from winkube.apiserver.served import Served
from winkube.base.clock import parse_rfc3339

POD = KINDS.by_gvk("", "v1", "Pod")
assert POD is not None
SERVED = Served(POD, POD, "/registry/pods/", ResourceCache("/registry/pods/"))
NOW = 1_700_000_000.0


def running(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"nodeName": "n", **spec}}


def deleted(pod: dict[str, Any], *deletions: tuple[float, int | None]) -> tuple[float, int]:
    """Seconds until it goes, and its grace, after deletions at these times with these graces."""
    for at, grace in deletions:
        plan_deletion(SERVED, pod, DeleteOptions(grace=grace), NOW + at)
    metadata = pod["metadata"]
    ends = parse_rfc3339(metadata["deletionTimestamp"])
    return ends - NOW, metadata["deletionGracePeriodSeconds"]


def test_a_pod_has_the_grace_it_asks_for() -> None:
    assert deleted(running(), (0, None)) == (30, 30)
    assert deleted(running(terminationGracePeriodSeconds=60), (0, None)) == (60, 60)
    assert deleted(running(), (0, 5)) == (5, 5)


def test_a_shorter_grace_counts_from_the_first_deletion() -> None:
    assert deleted(running(), (0, 60), (10, 30)) == (30, 30)


def test_a_longer_grace_or_none_changes_nothing() -> None:
    for later in (60, 90, None):
        assert deleted(running(), (0, 60), (10, later)) == (60, 60)


def test_a_grace_that_has_ended_ends_now() -> None:
    assert deleted(running(), (0, 60), (40, 30)) == (40, 1)
    assert deleted(running(), (0, 60), (40, 0)) == (40, 0)


@pytest.mark.parametrize(("grace", "seconds"), [(2**63 - 1, -1), (10**12, 3875820019)])
def test_a_grace_of_ages_overflows_as_in_go(grace: int, seconds: int) -> None:
    assert deleted(running(terminationGracePeriodSeconds=grace), (0, None)) == (seconds, grace)
    assert deleted(running(), (0, grace), (10, 0)) == (10, 0)
