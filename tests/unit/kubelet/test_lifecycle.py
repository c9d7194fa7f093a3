from collections.abc import Callable
from typing import Any

from winkube.api.errors import UnavailableError
from winkube.base.types import JsonObject
from winkube.client.resource import NODES, PODS

Pods = Callable[..., JsonObject]


async def test_a_pod_runs_is_ready_and_has_the_sandbox_address(node: Any, pod_of: Pods) -> None:
    async with node.up():
        node.create(pod_of())
        await node.until_phase("Running")
        await node.until(lambda: node.condition("Ready") == "True")
        status = node.status()
        assert status["podIP"].startswith("10.244.1.")
        assert status["podIPs"] == [{"ip": status["podIP"]}]
        assert status["hostIP"] == "172.30.0.11"
        assert status["qosClass"] == "BestEffort"
        main = node.container()
        assert main["containerID"].startswith("fake://container-")
        assert (main["ready"], main["started"], main["restartCount"]) == (True, True, 0)
        assert [c["type"] for c in status["conditions"]] == [
            "PodReadyToStartContainers",
            "Initialized",
            "Ready",
            "ContainersReady",
            "PodScheduled",
        ]
        await node.until(lambda: "Started" in node.events())
        assert {"Pulled", "Created", "Started"} <= set(node.events())


async def test_a_deleted_pod_is_stopped_removed_and_deleted(node: Any, pod_of: Pods) -> None:
    async with node.up():
        pod = node.create(pod_of())
        await node.until_phase("Running")
        await node.api.delete(PODS, "web", namespace="default")
        await node.until_gone()
        assert node.cri.sandboxes == {}
        assert node.cri.containers == {}
        assert [request.timeout for request in node.cri.methods("StopContainer")] == [5]
        assert not node.config.pod_dir(pod["metadata"]["uid"]).exists()
        assert not list(node.config.pod_logs_dir.iterdir())


async def test_a_force_deleted_pod_is_cleaned_up(node: Any, pod_of: Pods) -> None:
    async with node.up():
        node.create(pod_of())
        await node.until_phase("Running")
        await node.api.delete(PODS, "web", namespace="default", options={"gracePeriodSeconds": 0})
        await node.until(lambda: not node.cri.sandboxes)


async def test_a_pod_that_never_restarts_succeeds(node: Any, pod_of: Pods) -> None:
    async with node.up():
        node.create(pod_of(restartPolicy="Never"))
        await node.until_phase("Running")
        node.cri.exit("main", 0)
        await node.until_phase("Succeeded")
        assert node.container()["state"]["terminated"]["reason"] == "Completed"
        await node.until(lambda: not any(s.ready for s in node.cri.sandboxes.values()))
        assert len(node.cri.methods("RunPodSandbox")) == 1


async def test_a_pod_that_never_restarts_fails_with_its_exit_code(node: Any, pod_of: Pods) -> None:
    async with node.up():
        node.create(pod_of(restartPolicy="Never"))
        await node.until_phase("Running")
        node.cri.exit("main", 3)
        await node.until_phase("Failed")
        assert node.container()["state"]["terminated"]["exitCode"] == 3
        assert node.condition("Ready") == "False"


async def test_a_crashing_container_is_restarted_once_then_backs_off(
    node: Any, pod_of: Pods
) -> None:
    async with node.up():
        node.create(pod_of())
        await node.until_phase("Running")
        node.cri.exit("main", 1)
        await node.until(lambda: node.container().get("restartCount") == 1)
        node.cri.exit("main", 1)
        await node.until(lambda: node.waiting() == "CrashLoopBackOff")
        main = node.container()
        assert main["lastState"]["terminated"]["exitCode"] == 1
        assert main["state"]["waiting"]["message"].startswith(
            "back-off 10s restarting failed container=main pod=web_default("
        )
        assert node.status()["phase"] == "Running"
        await node.until(lambda: "BackOff" in node.events())


async def test_back_off_ends_and_the_container_runs_again(hasty_node: Any, pod_of: Pods) -> None:
    node = hasty_node
    async with node.up():
        node.create(pod_of())
        await node.until_phase("Running")
        for count in (1, 2, 3):
            node.cri.exit("main", 1)
            await node.until(lambda n=count: node.container().get("restartCount") == n)
        await node.until(lambda: node.container()["ready"])
        instances = list(node.cri.containers)
        assert len(instances) == 2


async def test_a_restarted_kubelet_adopts_running_pods(node: Any, pod_of: Pods) -> None:
    async with node.up():
        node.create(pod_of())
        await node.until(lambda: node.condition("Ready") == "True")
        before = node.container()
    node.new_engine()
    async with node.up():
        await node.until(lambda: len(node.engine.workers.all()) == 1)
        await node.until(lambda: node.engine.workers.all()[0].state.sandboxes)
        assert node.container() == before
    assert len(node.cri.methods("RunPodSandbox")) == 1
    assert len(node.cri.methods("CreateContainer")) == 1
    assert node.cri.methods("StopContainer") == []


async def test_sandboxes_of_unknown_pods_are_removed(node: Any, pod_of: Pods) -> None:
    async with node.up():
        node.create(pod_of())
        await node.until_phase("Running")
    await node.api.delete(PODS, "web", namespace="default", options={"gracePeriodSeconds": 0})
    node.new_engine()
    async with node.up():
        await node.until(lambda: not node.cri.sandboxes)
        assert not list((node.config.root_dir / "pods").iterdir())


async def test_init_containers_run_in_order_before_the_others(node: Any, pod_of: Pods) -> None:
    init = [{"name": "one"}, {"name": "two"}]
    async with node.up():
        node.create(pod_of(initContainers=init))
        await node.until(lambda: node.cri.running() == ["one"])
        await node.until(lambda: node.waiting("main") == "PodInitializing")
        assert node.condition("Initialized") == "False"
        node.cri.exit("one", 0)
        await node.until(lambda: node.cri.running() == ["two"])
        node.cri.exit("two", 0)
        await node.until(lambda: node.condition("Ready") == "True")
        assert node.condition("Initialized") == "True"
        assert node.cri.running() == ["main"]
        assert [node.container(name)["ready"] for name in ("one", "two", "main")] == [True] * 3


async def test_a_failed_init_container_fails_a_pod_that_never_restarts(
    node: Any, pod_of: Pods
) -> None:
    async with node.up():
        node.create(pod_of(initContainers=[{"name": "one"}], restartPolicy="Never"))
        await node.until(lambda: node.cri.running() == ["one"])
        node.cri.exit("one", 2)
        await node.until_phase("Failed")


async def test_a_sidecar_starts_first_and_stops_last(node: Any, pod_of: Pods) -> None:
    sidecar = {"name": "side", "restartPolicy": "Always"}
    async with node.up():
        node.create(pod_of(initContainers=[sidecar]))
        await node.until(lambda: node.condition("Ready") == "True")
        assert node.cri.running() == ["main", "side"]
        await node.api.delete(PODS, "web", namespace="default")
        await node.until_gone()
        stopped = [request.container_id for request in node.cri.methods("StopContainer")]
        created = [request.config.metadata.name for request in node.cri.methods("CreateContainer")]
        assert created == ["side", "main"]
        assert len(stopped) == 2
        assert stopped[0] > stopped[1]


async def test_the_hook_of_a_sidecar_does_not_wait_for_its_turn(node: Any, pod_of: Pods) -> None:
    hook = {"preStop": {"exec": {"command": ["bye"]}}}
    sidecar = {"name": "side", "restartPolicy": "Always", "lifecycle": hook}
    running: list[list[str]] = []

    def seen(command: list[str]) -> tuple[int, str]:
        running.append(node.cri.running())
        node.cri.exit("main", 0)
        return 0, ""

    node.cri.exec_results["side"] = seen
    # The main container takes all the time it may, unless the sidecar's hook tells it to end.
    node.cri.stop_delay = 60
    async with node.up():
        node.create(pod_of(initContainers=[sidecar], terminationGracePeriodSeconds=60))
        await node.until(lambda: node.condition("Ready") == "True")
        await node.api.delete(PODS, "web", namespace="default")
        await node.until(lambda: bool(running))
        assert running == [["main", "side"]]
        await node.api.delete(PODS, "web", namespace="default", options={"gracePeriodSeconds": 0})


async def test_a_pod_past_its_deadline_fails(node: Any, pod_of: Pods) -> None:
    async with node.up():
        node.create(pod_of(activeDeadlineSeconds=1))
        await node.until_phase("Running")
        await node.until_phase("Failed")
        status = node.status()
        assert status["reason"] == "DeadlineExceeded"
        assert node.cri.running() == []


async def test_a_dead_sandbox_is_replaced_and_counts_as_a_restart(
    hasty_node: Any, pod_of: Pods
) -> None:
    node = hasty_node
    async with node.up():
        node.create(pod_of())
        await node.until(lambda: node.condition("Ready") == "True")
        for sandbox in list(node.cri.sandboxes.values()):
            sandbox.ready = False
        node.cri.exit("main", 255)
        await node.until(lambda: len(node.cri.sandboxes) == 2)
        await node.until(lambda: node.container().get("restartCount") == 1)
        await node.until(lambda: node.condition("Ready") == "True")


async def test_readiness_gates_are_waited_for(node: Any, pod_of: Pods) -> None:
    async with node.up():
        node.create(pod_of(readinessGates=[{"conditionType": "x/y"}]))
        await node.until(lambda: node.condition("ContainersReady") == "True")
        assert node.condition("Ready") == "False"
        conditions = [*node.status()["conditions"], {"type": "x/y", "status": "True"}]
        await node.api.patch(
            PODS, "web", {"status": {"conditions": conditions}},
            namespace="default", subresource="status",
        )  # fmt: skip
        await node.until(lambda: node.condition("Ready") == "True")
        assert node.condition("x/y") == "True"


async def test_a_status_is_sent_again_when_the_server_fails(node: Any, pod_of: Pods) -> None:
    async with node.up():
        await node.until(lambda: _ready(node) == "True")
        node.api.fail_next(*[UnavailableError("down") for _ in range(6)])
        node.create(pod_of())
        await node.until_phase("Running")


async def test_the_node_is_registered_ready_with_windows_facts(windows_node: Any) -> None:
    node = windows_node
    async with node.up():
        await node.until(lambda: _ready(node) == "True")
        found = node.api.find(NODES, "win-1")
        info, labels = found["status"]["nodeInfo"], found["metadata"]["labels"]
        assert info["osImage"] == "Windows Server 2019 Datacenter"
        assert info["kernelVersion"].startswith("10.0.17763.")
        assert info["operatingSystem"] == "windows"
        assert info["kubeletVersion"] == "v1.34.0"
        assert info["containerRuntimeVersion"] == "fake://1.0"
        assert labels["node.kubernetes.io/windows-build"] == "10.0.17763"
        assert labels["winkube.io/emulated"] == "true"
        assert labels["kubernetes.io/os"] == labels["beta.kubernetes.io/os"] == "windows"
        assert found["status"]["capacity"]["cpu"] == "4"


async def test_the_node_is_not_ready_without_a_network(node: Any) -> None:
    node.cri.network_ready = False
    async with node.up():
        await node.until(lambda: _ready(node) == "False")
        conditions = node.api.find(NODES, "lin-1")["status"]["conditions"]
        ready = next(entry for entry in conditions if entry["type"] == "Ready")
        assert ready["reason"] == "KubeletNotReady"
        assert ready["message"] == (
            "container runtime network not ready: NetworkReady=false "
            "reason:NetworkPluginNotReady message:no network"
        )
        node.cri.network_ready = True
        await node.until(lambda: _ready(node) == "True")


def _ready(node: Any) -> str:
    found = node.api.find(NODES, node.config.node_name) or {}
    conditions = (found.get("status") or {}).get("conditions") or []
    return str(next((c["status"] for c in conditions if c["type"] == "Ready"), ""))
