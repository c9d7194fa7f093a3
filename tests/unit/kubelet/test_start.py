"""Images, environment, volumes and hooks: what happens before a container runs."""

import base64
import os
from collections.abc import Callable
from typing import Any

import pytest

from winkube.base.types import JsonObject
from winkube.client.resource import CONFIGMAPS, PODS, SECRETS, SERVICES

Pods = Callable[..., JsonObject]


def _env(node: Any, name: str = "main") -> dict[str, str]:
    return {entry.key: entry.value.decode() for entry in node.cri.find(name).config.envs}


async def test_a_missing_image_is_pulled(node: Any, pod_of: Pods) -> None:
    node.cri.registry["reg/app:2"] = node.cri.make_image("reg/app:2")
    async with node.up():
        node.create(pod_of(containers=[{"name": "main", "image": "reg/app:2"}]))
        await node.until_phase("Running")
        await node.until(lambda: "Started" in node.events())
        assert "Pulling" in node.events()
        assert node.event_text("Pulled").startswith('Successfully pulled image "reg/app:2" in ')


async def test_a_failing_pull_backs_off(node: Any, pod_of: Pods) -> None:
    async with node.up():
        node.create(pod_of(containers=[{"name": "main", "image": "reg/none"}]))
        await node.until(lambda: node.waiting() == "ImagePullBackOff")
        assert node.status()["phase"] == "Pending"
        await node.until(lambda: node.event_text("Failed") == "Error: ImagePullBackOff")
        assert {"Error: ErrImagePull", "Error: ImagePullBackOff"} < node.event_texts("Failed")
        assert node.container()["state"]["waiting"]["message"].startswith(
            'Back-off pulling image "reg/none": ErrImagePull: '
        )


async def test_a_failed_pull_is_tried_again(hasty_node: Any, pod_of: Pods) -> None:
    node = hasty_node
    async with node.up():
        node.create(pod_of(containers=[{"name": "main", "image": "reg/late:1"}]))
        await node.until(lambda: "Failed" in node.events())
        node.cri.registry["reg/late:1"] = node.cri.make_image("reg/late:1")
        await node.until_phase("Running")


@pytest.mark.parametrize(
    ("image", "policy", "reason"),
    [
        ("reg/none:1", "Never", "ErrImageNeverPull"),
        ("Not A Name", "IfNotPresent", "InvalidImageName"),
    ],
)
async def test_images_that_cannot_be_had(
    node: Any, pod_of: Pods, image: str, policy: str, reason: str
) -> None:
    async with node.up():
        main = {"name": "main", "image": image, "imagePullPolicy": policy}
        node.create(pod_of(containers=[main]))
        await node.until(lambda: node.waiting() == reason)
        await node.until(lambda: node.event_texts("Failed") == {f"Error: {reason}"})


async def test_pull_secrets_are_used_for_their_registry(node: Any, pod_of: Pods) -> None:
    node.cri.registry["reg.example/app:1"] = node.cri.make_image("reg.example/app:1")
    auth = base64.b64encode(b"me:pw").decode()
    document = base64.b64encode(f'{{"auths":{{"reg.example":{{"auth":"{auth}"}}}}}}'.encode())
    secret = {
        "metadata": {"name": "pull"},
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": document.decode()},
    }
    node.api.seed(SECRETS, secret)
    async with node.up():
        main = {"name": "main", "image": "reg.example/app:1"}
        node.create(pod_of(containers=[main], imagePullSecrets=[{"name": "pull"}]))
        await node.until_phase("Running")
        (request,) = node.cri.methods("PullImage")
        assert (request.auth.username, request.auth.password) == ("me", "pw")


async def test_environment_from_every_source(node: Any, pod_of: Pods) -> None:
    node.api.seed(CONFIGMAPS, {"metadata": {"name": "cm"}, "data": {"A": "1", "B": "2"}})
    node.api.seed(SECRETS, {"metadata": {"name": "s"}, "data": {"pw": "cHc="}})
    service = {"clusterIP": "10.96.0.7", "ports": [{"port": 80, "name": "http"}]}
    node.api.seed(SERVICES, {"metadata": {"name": "my-web"}, "spec": service})
    env = [
        {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "LABEL", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}},
        {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        {"name": "PW", "valueFrom": {"secretKeyRef": {"name": "s", "key": "pw"}}},
        {"name": "NO", "valueFrom": {"secretKeyRef": {"name": "x", "key": "y", "optional": True}}},
        {"name": "URL", "value": "http://$(MY_WEB_SERVICE_HOST)/$(P_A)/$$(P_A)/$(NONE)"},
    ]
    main = {
        "name": "main",
        "env": env,
        "envFrom": [{"prefix": "P_", "configMapRef": {"name": "cm"}}],
        "command": ["run", "$(NAME)"],
        "resources": {"limits": {"cpu": "1500m"}},
    }
    async with node.up():
        node.create(pod_of(containers=[main]))
        await node.until_phase("Running")
        found = _env(node)
        assert found["NAME"] == found["LABEL"] == "web"
        assert found["IP"] == node.status()["podIP"]
        assert (found["P_A"], found["P_B"], found["PW"], found["CPU"]) == ("1", "2", "pw", "2")
        assert "NO" not in found
        assert found["URL"] == "http://10.96.0.7/1/$(P_A)/$(NONE)"
        assert found["MY_WEB_PORT_80_TCP"] == "tcp://10.96.0.7:80"
        assert found["MY_WEB_SERVICE_PORT_HTTP"] == "80"
        assert list(node.cri.find("main").config.command) == ["run", "web"]


async def test_a_missing_config_map_key_stops_the_container(node: Any, pod_of: Pods) -> None:
    env = [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "a"}}}]
    async with node.up():
        node.create(pod_of(containers=[{"name": "main", "env": env}]))
        await node.until(lambda: node.waiting() == "CreateContainerConfigError")
        waiting = node.container()["state"]["waiting"]
        assert waiting["message"] == 'configmap "cm" not found'


async def test_volumes_are_mounted_and_the_missing_one_is_an_event(node: Any, pod_of: Pods) -> None:
    volumes = [
        {"name": "cm", "configMap": {"name": "cm"}},
        {"name": "tmp", "emptyDir": {}},
    ]
    mounts = [
        {"name": "cm", "mountPath": "/etc/cm"},
        {"name": "tmp", "mountPath": "/tmp/x", "readOnly": True},
    ]
    async with node.up():
        main = {"name": "main", "volumeMounts": mounts}
        node.create(pod_of(containers=[main], volumes=volumes))
        await node.until(lambda: "FailedMount" in node.events())
        assert node.event_text("FailedMount") == (
            'MountVolume.SetUp failed for volume "cm" : configmap "cm" not found'
        )
        assert node.waiting() == "ContainerCreating"
        node.api.seed(CONFIGMAPS, {"metadata": {"name": "cm"}, "data": {"a": "hello"}})
        await node.until_phase("Running")
        found = {m.container_path: m for m in node.cri.find("main").config.mounts}
        assert found["/etc/cm"].readonly
        assert found["/tmp/x"].readonly
        assert "/etc/hosts" in found
        with open(found["/etc/cm"].host_path + "/a") as file:  # noqa: ASYNC230, PTH123
            assert file.read() == "hello"


async def test_a_failing_sandbox_is_tried_again(node: Any, pod_of: Pods) -> None:
    node.cri.fail["RunPodSandbox"] = "no address left"
    async with node.up():
        node.create(pod_of())
        await node.until(lambda: "FailedCreatePodSandBox" in node.events())
        assert node.event_text("FailedCreatePodSandBox") == (
            "Failed to create pod sandbox: rpc error: code = Unknown desc = no address left"
        )
        await node.until_phase("Running")


async def test_create_and_start_errors_are_named(node: Any, pod_of: Pods) -> None:
    node.cri.fail["CreateContainer"] = "bad mount"
    async with node.up():
        node.create(pod_of())
        await node.until(lambda: node.waiting() == "CreateContainerError")
        assert node.container()["state"]["waiting"]["message"] == "bad mount"
        await node.until(lambda: "Failed" in node.events())


async def test_a_failing_post_start_hook_kills_the_container(node: Any, pod_of: Pods) -> None:
    node.cri.exec_results["main"] = lambda command: (1, "nope")
    hook = {"postStart": {"exec": {"command": ["x"]}}}
    async with node.up():
        node.create(pod_of(containers=[{"name": "main", "lifecycle": hook}]))
        await node.until(lambda: "FailedPostStartHook" in node.events())
        assert node.event_texts("FailedPostStartHook") == {"PostStartHook failed"}
        await node.until(lambda: node.cri.methods("StopContainer"))


async def end_with_hook(node: Any, pod_of: Pods) -> None:
    """Let a pod with a preStop hook come and go."""
    hook = {"preStop": {"exec": {"command": ["bye"]}}}
    node.create(pod_of(containers=[{"name": "main", "lifecycle": hook}]))
    await node.until_phase("Running")
    await node.api.delete(PODS, "web", namespace="default")
    await node.until_gone()


async def test_a_pre_stop_hook_runs_before_the_stop(node: Any, pod_of: Pods) -> None:
    ran: list[list[str]] = []

    def note(command: list[str]) -> tuple[int, str]:
        ran.append(command)
        return 0, ""

    node.cri.exec_results["main"] = note
    async with node.up():
        await end_with_hook(node, pod_of)
        assert ran == [["bye"]]


async def test_what_a_failing_pre_stop_hook_says_stays_out_of_events(
    node: Any, pod_of: Pods
) -> None:
    node.cri.exec_results["main"] = lambda command: (1, "password=1234")
    async with node.up():
        await end_with_hook(node, pod_of)
        await node.until(lambda: "FailedPreStopHook" in node.events())
        assert node.event_texts("FailedPreStopHook") == {"PreStopHook failed"}


async def test_deletion_interrupts_a_pull(node: Any, pod_of: Pods) -> None:
    node.cri.pull_delay = 60
    async with node.up():
        node.create(pod_of(containers=[{"name": "main", "image": "reg/slow:1"}]))
        await node.until(lambda: node.cri.methods("PullImage"))
        await node.api.delete(PODS, "web", namespace="default")
        await node.until_gone()


async def test_a_second_deletion_may_shorten_the_grace_period(node: Any, pod_of: Pods) -> None:
    node.cri.stop_delay = 60
    async with node.up():
        node.create(pod_of(terminationGracePeriodSeconds=50))
        await node.until_phase("Running")
        await node.api.delete(PODS, "web", namespace="default")
        await node.until(lambda: node.cri.methods("StopContainer"))
        await node.api.delete(PODS, "web", namespace="default", options={"gracePeriodSeconds": 1})
        await node.until_gone()
        graces = [request.timeout for request in node.cri.methods("StopContainer")]
        assert (graces[0], graces[-1]) == (50, 2)


async def test_a_runtime_class_names_the_handler(node: Any, pod_of: Pods) -> None:
    from winkube.client.resource import RUNTIMECLASSES

    node.api.seed(RUNTIMECLASSES, {"metadata": {"name": "iso"}, "handler": "runhcs"})
    async with node.up():
        node.create(pod_of(runtimeClassName="iso"))
        await node.until_phase("Running")
        assert node.cri.methods("RunPodSandbox")[0].runtime_handler == "runhcs"


async def test_the_termination_message_comes_from_its_file(node: Any, pod_of: Pods) -> None:
    main = {"name": "main", "terminationMessagePath": "/dev/termination-log"}
    async with node.up():
        node.create(pod_of(containers=[main], restartPolicy="Never"))
        await node.until_phase("Running")
        found = {m.container_path: m for m in node.cri.find("main").config.mounts}
        path = found["/dev/termination-log"].host_path
        descriptor = os.open(path, os.O_WRONLY)
        os.write(descriptor, b"all is lost")
        os.close(descriptor)
        node.cri.exit("main", 1)
        await node.until_phase("Failed")
        assert node.container()["state"]["terminated"]["message"] == "all is lost"


async def test_an_ephemeral_container_joins_a_running_pod(node: Any, pod_of: Pods) -> None:
    async with node.up():
        node.create(pod_of())
        await node.until_phase("Running")
        debug = {"name": "dbg", "image": "winkube.local/app:1", "targetContainerName": "main"}
        await node.api.patch(
            PODS, "web", {"spec": {"ephemeralContainers": [debug]}}, namespace="default"
        )
        await node.until(lambda: node.status().get("ephemeralContainerStatuses"))
        await node.until(lambda: node.cri.running() == ["dbg", "main"])
        options = node.cri.find("dbg").config.linux.security_context.namespace_options
        assert options.target_id == node.cri.find("main").id
