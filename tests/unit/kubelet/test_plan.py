"""The pure decision: which sandbox and containers to stop and to start."""

from collections.abc import Callable

import pytest

from winkube.base.types import JsonObject
from winkube.kubelet.pod import identity
from winkube.kubelet.pod.plan import Plan, Verdicts, plan_pod
from winkube.kubelet.pod.state import Container, Phase, PodState, Sandbox

Pods = Callable[..., JsonObject]
BOX = Sandbox("s0", ready=True, ips=("10.0.0.1",))


def _container(pod: JsonObject, name: str, phase: Phase, code: int = 0) -> Container:
    spec = identity.find_container(pod, name)
    assert spec is not None
    return Container(
        f"id-{name}", name, "s0", phase, exit_code=code, hash=identity.container_hash(spec)
    )


def _plan(pod: JsonObject, *containers: Container, **verdicts: set[str]) -> Plan:
    return plan_pod(pod, PodState((BOX,), containers), Verdicts(**verdicts))


def test_nothing_there_means_a_sandbox_and_all_containers(pod_of: Pods) -> None:
    pod = pod_of(containers=[{"name": "a"}, {"name": "b"}])
    plan = plan_pod(pod, PodState(), Verdicts())
    assert plan == Plan(create_sandbox=True, attempt=0, start=("a", "b"))


def test_a_dead_sandbox_is_replaced_and_init_starts_over(pod_of: Pods) -> None:
    pod = pod_of(initContainers=[{"name": "i"}])
    old = PodState((Sandbox("s0", ready=False, attempt=2),), ())
    assert plan_pod(pod, old, Verdicts()) == Plan(create_sandbox=True, attempt=3, start=("i",))


def test_a_pod_that_never_restarts_gets_no_second_sandbox(pod_of: Pods) -> None:
    pod = pod_of(restartPolicy="Never")
    dead = Sandbox("s0", ready=False)
    state = PodState((dead,), (_container(pod, "main", Phase.EXITED),))
    assert plan_pod(pod, state, Verdicts()).idle


def test_running_containers_are_left_alone(pod_of: Pods) -> None:
    pod = pod_of()
    assert _plan(pod, _container(pod, "main", Phase.RUNNING)).idle


@pytest.mark.parametrize(
    ("policy", "code", "restarts"),
    [("Always", 0, True), ("OnFailure", 1, True), ("OnFailure", 0, False), ("Never", 1, False)],
)
def test_restart_policy(pod_of: Pods, policy: str, code: int, restarts: bool) -> None:
    pod = pod_of(restartPolicy=policy)
    plan = _plan(pod, _container(pod, "main", Phase.EXITED, code))
    assert plan == (Plan(start=("main",)) if restarts else Plan(kill_pod=True))


def test_a_changed_image_replaces_the_container(pod_of: Pods) -> None:
    pod = pod_of()
    running = _container(pod, "main", Phase.RUNNING)
    pod["spec"]["containers"][0]["image"] = "other:2"
    plan = _plan(pod, running)
    assert plan.start == ("main",)
    assert plan.kill[0].message == "Container main definition changed, will be restarted"
    assert plan.kill[0].probe == ""


def test_a_failed_probe_kills_without_restart_when_the_policy_says_never(pod_of: Pods) -> None:
    pod = pod_of(restartPolicy="Never", containers=[{"name": "main"}, {"name": "other"}])
    records = [_container(pod, name, Phase.RUNNING) for name in ("main", "other")]
    plan = _plan(pod, *records, failed_liveness={"id-main"})
    assert plan.start == ()
    assert [(kill.container.name, kill.probe) for kill in plan.kill] == [("main", "livenessProbe")]


def test_a_failed_init_container_is_tried_again(pod_of: Pods) -> None:
    pod = pod_of(initContainers=[{"name": "i"}])
    assert _plan(pod, _container(pod, "i", Phase.EXITED, 1)).start == ("i",)


def test_a_running_init_container_is_waited_for(pod_of: Pods) -> None:
    pod = pod_of(initContainers=[{"name": "i"}])
    assert _plan(pod, _container(pod, "i", Phase.RUNNING)).idle


def test_a_sidecar_that_has_not_started_holds_the_rest_back(pod_of: Pods) -> None:
    pod = pod_of(initContainers=[{"name": "side", "restartPolicy": "Always"}])
    running = _container(pod, "side", Phase.RUNNING)
    assert _plan(pod, running).idle
    assert _plan(pod, running, started={"id-side"}).start == ("main",)


def test_a_dead_sidecar_is_restarted_while_the_pod_runs(pod_of: Pods) -> None:
    pod = pod_of(initContainers=[{"name": "side", "restartPolicy": "Always"}])
    main, side = (
        _container(pod, "main", Phase.RUNNING),
        _container(pod, "side", Phase.EXITED, 1),
    )
    assert _plan(pod, main, side) == Plan(start=("side",))


def test_two_live_sandboxes_are_both_stopped_first(pod_of: Pods) -> None:
    pod = pod_of()
    boxes = (Sandbox("s1", ready=True, attempt=1), BOX)
    plan = plan_pod(pod, PodState(boxes), Verdicts())
    assert (plan.kill_pod, plan.create_sandbox, plan.attempt) == (True, True, 2)
