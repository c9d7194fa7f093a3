"""Nodes nobody runs: what their conditions mean for taints, and for pods that are bound to them."""

import asyncio
import itertools
from typing import Any

from tests.upstream.scenario import Scenario, Stage, Step
from tests.upstream.steps import change, count, fill, look, make, pause, remove, until
from tests.upstream.workloads.shapes import condition, is_ready, pod

from winkube.client.resource import LEASES

Json = Any
NODE = "{ns}-node"
OWN = {"key": "{ns}", "effect": "NoSchedule"}


def node() -> Json:
    return {"kind": "Node", "metadata": {"name": NODE}, "spec": {"taints": [OWN]}}


def entry(kind: str, status: str) -> Json:
    return {
        "type": kind,
        "status": status,
        "reason": "Test",
        "message": "said by hand",
        "lastHeartbeatTime": "2024-01-01T00:00:00Z",
        "lastTransitionTime": "2024-01-01T00:00:00Z",
    }


def say(**statuses: str) -> Step:
    """Conditions as its kubelet would write them."""
    said = [entry(kind, status) for kind, status in {"Ready": "True", **statuses}.items()]
    return change("Node", NODE, {"status": {"conditions": said}}, sub="status")


def alive(*steps: Step) -> Step:
    """Meanwhile its lease is renewed, however long a busy machine takes."""

    async def step(stage: Stage) -> None:
        async with asyncio.TaskGroup() as group:
            beating = group.create_task(_renew(stage))
            for each in steps:
                await each(stage)
            beating.cancel()

    return step


async def _renew(stage: Stage) -> None:
    name, place = fill(NODE, stage.namespace), "kube-node-lease"
    spec = {"holderIdentity": name, "leaseDurationSeconds": 40}
    await stage.client.create(LEASES, {"metadata": {"name": name}, "spec": spec}, namespace=place)
    for number in itertools.count():
        moment = {"renewTime": f"2024-01-01T{number // 60:02}:{number % 60:02}:00.000000Z"}
        await stage.client.patch(LEASES, name, {"spec": moment}, namespace=place)
        await asyncio.sleep(1.0)


def tainted(*keys: str) -> Step:
    wanted = {"{ns}", *(f"node.kubernetes.io/{key}" for key in keys)}

    def holds(obj: Json) -> bool:
        found = {taint["key"] for taint in obj["spec"].get("taints") or []}
        return len(found) == len(wanted) and all(key in found for key in wanted - {"{ns}"})

    return until("Node", NODE, holds)


TOLERANT = [{"operator": "Exists"}]
RUNNING = {
    "status": {
        "phase": "Running",
        "conditions": [
            {"type": "Ready", "status": "True"},
            {"type": "ContainersReady", "status": "True"},
        ],
    }
}
SCENARIOS = [
    Scenario(
        "conditions: taints",
        [
            make(node()),
            alive(
                say(),
                tainted(),
                look("ready"),
                say(MemoryPressure="True", DiskPressure="True", PIDPressure="True"),
                tainted("memory-pressure", "disk-pressure", "pid-pressure"),
                look("pressed"),
                say(NetworkUnavailable="True", MemoryPressure="False"),
                tainted("network-unavailable"),
                say(),
                tainted(),
                look("well again"),
            ),
            remove("Node", NODE),
        ],
        also=("Node",),
        ignore=("Node.spec.podCIDR", "Node.spec.podCIDRs", "Event.RegisteredNode"),
        patient=True,
    ),
    Scenario(
        "conditions: cordoned",
        [
            make(node()),
            alive(
                say(),
                tainted(),
                change("Node", NODE, {"spec": {"unschedulable": True}}),
                tainted("unschedulable"),
                look("cordoned"),
                change("Node", NODE, {"spec": {"unschedulable": None}}),
                tainted(),
                look("open"),
            ),
            remove("Node", NODE),
        ],
        also=("Node",),
        ignore=("Node.spec.podCIDR", "Node.spec.podCIDRs", "Event.NodeNotReady"),
        patient=True,
    ),
    Scenario(
        "conditions: not ready",
        [
            make(node()),
            say(),
            tainted(),
            make(pod("kept", nodeName=NODE, tolerations=TOLERANT)),
            change("Pod", "kept", RUNNING, sub="status"),
            say(Ready="False"),
            until("Node", NODE, lambda o: len(o["spec"]["taints"]) == 3),
            # Nobody says anything any more.
            until("Node", NODE, lambda o: condition(o, "Ready")["status"] == "Unknown"),
            look("unknown"),
        ],
        also=("Node",),
        ignore=("Node.spec.podCIDR", "Node.spec.podCIDRs"),
        patient=True,
    ),
    Scenario(
        "conditions: silent",
        [
            make(node()),
            say(),
            tainted(),
            make(pod("kept", nodeName=NODE, tolerations=TOLERANT)),
            change("Pod", "kept", RUNNING, sub="status"),
            until("Node", NODE, lambda o: condition(o, "Ready")["status"] == "Unknown"),
            until("Pod", "kept", lambda o: not is_ready(o)),
            until("Node", NODE, lambda o: len(o["spec"]["taints"]) == 3),
            make(pod("late", nodeName=NODE, tolerations=TOLERANT)),
            pause(1),
            change("Pod", "late", RUNNING, sub="status"),
        ],
        also=("Node",),
        ignore=("Node.spec.podCIDR", "Node.spec.podCIDRs"),
        patient=True,
    ),
    Scenario(
        "conditions: never said anything",
        [
            make(node()),
            until("Node", NODE, lambda o: condition(o, "Ready").get("status") == "Unknown"),
            until("Node", NODE, lambda o: len(o["spec"]["taints"]) == 3),
        ],
        also=("Node",),
        ignore=("Node.spec.podCIDR", "Node.spec.podCIDRs"),
        patient=True,
    ),
    Scenario(
        "conditions: out of service",
        [
            make(node()),
            say(),
            tainted(),
            make(pod("a", nodeName=NODE, tolerations=TOLERANT, finalizers=["example.com/hold"])),
            change("Pod", "a", RUNNING, sub="status"),
            say(Ready="False"),
            until("Node", NODE, lambda o: len(o["spec"]["taints"]) == 3),
            remove("Pod", "a"),
            change(
                "Node",
                NODE,
                {
                    "spec": {
                        "taints": [
                            OWN,
                            {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"},
                            {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
                            {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"},
                        ]
                    }
                },
            ),
            count("Pod", 1, lambda o: o["status"]["phase"] == "Failed", seconds=60),
        ],
        also=("Node",),
        ignore=("Node.spec.podCIDR", "Node.spec.podCIDRs", "Node.status", "Node.spec.taints"),
        patient=True,
    ),
    Scenario(
        "conditions: a pod that is nowhere and going",
        [
            make(
                pod(
                    "a",
                    nodeSelector={"none": "{ns}"},
                    tolerations=TOLERANT,
                    finalizers=["example.com/hold"],
                ),
            ),
            pause(1),
            remove("Pod", "a"),
            count("Pod", 1, lambda o: o["status"]["phase"] == "Failed", seconds=60),
        ],
        ignore=("Event.FailedScheduling",),
        patient=True,
    ),
]
