"""Containers of a pod, field by field."""

from typing import Any

from tests.upstream.variants import CONTAINER, PODS, containers, merged, pod, pods, posts

LONG = "a" * 64
SOURCE = {"name": "v", "emptyDir": {}}


def _env(**source: object) -> dict[str, object]:
    return {"env": [{"name": "A", **source}]}


def _from(**source: object) -> dict[str, object]:
    return _env(valueFrom=source)


def _mount(**mount: object) -> dict[str, object]:
    return {"volumeMounts": [{"name": "v", "mountPath": "/m", **mount}]}


def _twice(**row: object) -> list[dict[str, object]]:
    return [CONTAINER, merged(CONTAINER, {"name": "d", **row})]


INIT: tuple[dict[str, Any], ...] = (
    {},
    {"restartPolicy": "Always"},
    {"restartPolicy": "Never"},
    {"restartPolicy": "OnFailure"},
    {"restartPolicy": ""},
    {"lifecycle": {"preStop": {"exec": {"command": ["a"]}}}},
    {"lifecycle": {}},
    {"livenessProbe": {"tcpSocket": {"port": 1}}},
    {"readinessProbe": {"tcpSocket": {"port": 1}}},
    {"startupProbe": {"tcpSocket": {"port": 1}}},
    {"restartPolicy": "Always", "startupProbe": {"tcpSocket": {"port": 0}}},
    {"restartPolicy": "Always", "livenessProbe": {"exec": {}}},
    {"restartPolicy": "Always", "readinessProbe": {"successThreshold": 2}},
    {"restartPolicy": "Always", "lifecycle": {"postStart": {}}},
    {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]},
    {"resources": {"limits": {"cpu": "1"}}},
    {"name": "c"},
    {"image": ""},
    {"ports": [{"containerPort": 1, "hostPort": 1}]},
)
CASES = [
    pods(
        "lists of containers",
        {"containers": []},
        {"containers": ...},
        {"containers": [{}]},
        {"containers": [CONTAINER, CONTAINER]},
        {"containers": [CONTAINER], "initContainers": [CONTAINER]},
        {"ephemeralContainers": [{"name": "e", "image": "i"}]},
        {"initContainers": [{"name": "i"}]},
    ),
    containers(
        "names and images",
        {"name": ""},
        {"name": "Upper"},
        {"name": LONG},
        {"name": "a.b"},
        {"name": "-a"},
        {"image": ""},
        {"image": ...},
        {"image": " i:1"},
        {"image": "i:1\n"},
        {"image": "i"},
        {"image": "i:latest"},
        {"image": "r:5000/i"},
        {"image": "i@sha256:0123"},
        {"image": "i:1@sha256:0123"},
        {"image": "I NVALID"},
        {"imagePullPolicy": "Sometimes"},
        {"imagePullPolicy": ""},
        {"imagePullPolicy": "Never"},
        {"terminationMessagePolicy": "Bad"},
        {"terminationMessagePolicy": ""},
        {"terminationMessagePath": ""},
        {"terminationMessagePath": "relative"},
        {"terminationMessagePolicy": "FallbackToLogsOnError"},
        {"workingDir": "relative"},
        {"command": [""], "args": ["$(A)"]},
        {"stdin": True, "stdinOnce": True, "tty": True},
    ),
    containers(
        "ports",
        {"ports": [{}]},
        {"ports": [{"containerPort": 0}]},
        {"ports": [{"containerPort": 65536}]},
        {"ports": [{"containerPort": -1}]},
        {"ports": [{"containerPort": 80, "hostPort": 65536}]},
        {"ports": [{"containerPort": 80, "hostPort": -1}]},
        {"ports": [{"containerPort": 80, "protocol": "ICMP"}]},
        {"ports": [{"containerPort": 80, "protocol": "tcp"}]},
        {"ports": [{"containerPort": 80, "protocol": "SCTP"}]},
        {"ports": [{"containerPort": 80, "name": "Upper"}]},
        {"ports": [{"containerPort": 80, "name": "1234"}]},
        {"ports": [{"containerPort": 80, "name": "a--b"}]},
        {"ports": [{"containerPort": 80, "name": "-a"}]},
        {"ports": [{"containerPort": 80, "name": "a" * 16}]},
        {"ports": [{"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}]},
        {"ports": [{"containerPort": 80}, {"containerPort": 80}]},
        {"ports": [{"containerPort": 80, "name": "x"}, {"containerPort": 80, "name": "y"}]},
        {"ports": [{"containerPort": 80, "hostPort": 1}, {"containerPort": 81, "hostPort": 1}]},
        {
            "ports": [
                {"containerPort": 80, "hostPort": 1, "hostIP": "10.0.0.1"},
                {"containerPort": 81, "hostPort": 1, "hostIP": "10.0.0.2"},
            ]
        },
        {"ports": [{"containerPort": 80, "hostPort": 1, "hostIP": "not-an-ip"}]},
        {"ports": [{"containerPort": 80, "hostPort": 1, "hostIP": "010.0.0.1"}]},
    ),
    containers(
        "ports on the host network",
        {"ports": [{"containerPort": 80}]},
        {"ports": [{"containerPort": 80, "hostPort": 81}]},
        {"ports": [{"containerPort": 80, "hostPort": 80}]},
        spec={"hostNetwork": True},
    ),
    pods(
        "ports of several containers",
        {
            "containers": [
                merged(CONTAINER, {"ports": [{"containerPort": 80, "name": "a", "hostPort": 8}]}),
                {
                    **merged(CONTAINER, {"name": "d"}),
                    "ports": [{"containerPort": 80, "name": "a", "hostPort": 8}],
                },
            ]
        },
        {
            "containers": _twice(ports=[{"containerPort": 80}]),
            "initContainers": [
                {
                    "name": "i",
                    "image": "i",
                    "ports": [{"containerPort": 80, "hostPort": 1}] * 2,
                }
            ],
        },
    ),
    containers(
        "environment",
        _env(name=""),
        _env(name="A=B"),
        _env(name="1A"),
        _env(name="A B"),
        _env(name="ä"),
        _env(name="."),
        _env(name=".."),
        _env(name="..a"),
        {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]},
        {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)x"}]},
        {"env": [{"value": "1"}]},
        _from(),
        _from(fieldRef={"fieldPath": "metadata.name"}),
        _env(value="v", valueFrom={"fieldRef": {"fieldPath": "metadata.name"}}),
        _from(fieldRef={}),
        _from(fieldRef={"fieldPath": ""}),
        _from(fieldRef={"fieldPath": "metadata.labels"}),
        _from(fieldRef={"fieldPath": "metadata.labels['a']"}),
        _from(fieldRef={"fieldPath": "metadata.labels['a b']"}),
        _from(fieldRef={"fieldPath": "metadata.labels['']"}),
        _from(fieldRef={"fieldPath": "metadata.annotations['A/B']"}),
        _from(fieldRef={"fieldPath": "metadata.annotations['a b']"}),
        _from(fieldRef={"fieldPath": "metadata.name['a']"}),
        _from(fieldRef={"fieldPath": "spec.hostname"}),
        _from(fieldRef={"fieldPath": "spec.host"}),
        _from(fieldRef={"fieldPath": "status.phase"}),
        _from(fieldRef={"fieldPath": "status.hostIP"}),
        _from(fieldRef={"fieldPath": "status.podIPs"}),
        _from(fieldRef={"fieldPath": "whatever"}),
        _from(fieldRef={"fieldPath": "metadata.name", "apiVersion": "v2"}),
        _from(fieldRef={"fieldPath": "metadata.name", "apiVersion": "a/b/c"}),
        _from(resourceFieldRef={}),
        _from(resourceFieldRef={"resource": "limits.cpu"}),
        _from(resourceFieldRef={"resource": "limits.cpu", "divisor": "1m"}),
        _from(resourceFieldRef={"resource": "limits.cpu", "divisor": "2"}),
        _from(resourceFieldRef={"resource": "limits.memory", "divisor": "1Mi"}),
        _from(resourceFieldRef={"resource": "limits.memory", "divisor": "1m"}),
        _from(resourceFieldRef={"resource": "requests.ephemeral-storage", "divisor": "3"}),
        _from(resourceFieldRef={"resource": "limits.hugepages-2Mi", "divisor": "1Mi"}),
        _from(resourceFieldRef={"resource": "limits.hugepages-2Mi", "divisor": "3"}),
        _from(resourceFieldRef={"resource": "requests.hugepages-2Mi"}),
        _from(resourceFieldRef={"resource": "limits.gpu"}),
        _from(configMapKeyRef={}),
        _from(configMapKeyRef={"name": "a"}),
        _from(configMapKeyRef={"key": "a"}),
        _from(configMapKeyRef={"name": "A", "key": "a b"}),
        _from(configMapKeyRef={"name": "a", "key": ".."}),
        _from(configMapKeyRef={"name": "a", "key": "k", "optional": True}),
        _from(secretKeyRef={}),
        _from(secretKeyRef={"name": "A b", "key": "..a"}),
        _from(secretKeyRef={"name": "a", "key": "k" * 254}),
        _from(fieldRef={"fieldPath": "metadata.name"}, secretKeyRef={"name": "a", "key": "b"}),
        _from(fileKeyRef={"volumeName": "v", "path": "p", "key": "K"}),
    ),
    containers(
        "environment from",
        {"envFrom": [{}]},
        {"envFrom": [{"configMapRef": {}}]},
        {"envFrom": [{"configMapRef": {"name": "A"}}]},
        {"envFrom": [{"secretRef": {}}]},
        {"envFrom": [{"secretRef": {"name": "a_b"}}]},
        {"envFrom": [{"secretRef": {"name": "a"}, "configMapRef": {"name": "a"}}]},
        {"envFrom": [{"prefix": "a=", "configMapRef": {"name": "a"}}]},
        {"envFrom": [{"prefix": "1 a", "configMapRef": {"name": "a", "optional": True}}]},
    ),
    containers(
        "mounts",
        _mount(),
        _mount(name=""),
        _mount(name="w"),
        _mount(mountPath=""),
        _mount(mountPath="relative"),
        _mount(mountPath="c:\\m"),
        _mount(mountPath="a:b"),
        {"volumeMounts": [{"name": "v", "mountPath": "/m"}] * 2},
        _mount(subPath="a"),
        _mount(subPath="/a"),
        _mount(subPath="a/../b"),
        _mount(subPath=".."),
        _mount(subPathExpr="$(A)"),
        _mount(subPathExpr="/a"),
        _mount(subPathExpr="../a"),
        _mount(subPath="a", subPathExpr="b"),
        _mount(mountPropagation="Both"),
        _mount(mountPropagation="HostToContainer"),
        _mount(mountPropagation="Bidirectional"),
        {**_mount(mountPropagation="Bidirectional"), "securityContext": {"privileged": True}},
        _mount(recursiveReadOnly="Enabled"),
        _mount(recursiveReadOnly="Enabled", readOnly=True),
        _mount(recursiveReadOnly="Enabled", readOnly=True, mountPropagation="HostToContainer"),
        _mount(recursiveReadOnly="IfPossible"),
        _mount(recursiveReadOnly="Disabled"),
        _mount(recursiveReadOnly="Maybe", readOnly=True),
        spec={"volumes": [SOURCE]},
    ),
    containers(
        "devices",
        {"volumeDevices": [{"name": "v", "devicePath": "/dev/x"}]},
        {"volumeDevices": [{"name": "v"}]},
        {"volumeDevices": [{"devicePath": "/dev/x"}]},
        {"volumeDevices": [{"name": "w", "devicePath": "/dev/x"}]},
        {"volumeDevices": [{"name": "v", "devicePath": "/dev/x"}] * 2},
        {"volumeDevices": [{"name": "v", "devicePath": "/a/../b"}]},
        {**_mount(), "volumeDevices": [{"name": "v", "devicePath": "/m"}]},
        {"volumeDevices": [{"name": "e", "devicePath": "/dev/x"}]},
        spec={
            "volumes": [
                {"name": "v", "persistentVolumeClaim": {"claimName": "c"}},
                {"name": "e", "emptyDir": {}},
            ]
        },
    ),
    containers(
        "resize and restart policies",
        {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]},
        {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "Never"}]},
        {"resizePolicy": [{"resourceName": "gpu", "restartPolicy": "NotRequired"}]},
        {"resizePolicy": [{"resourceName": "cpu"}]},
        {"resizePolicy": [{"restartPolicy": "NotRequired"}]},
        {"resizePolicy": [{"resourceName": "memory", "restartPolicy": "RestartContainer"}] * 2},
        {
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
            "resizePolicy": [{"resourceName": "memory", "restartPolicy": "RestartContainer"}],
        },
        {"restartPolicy": "Always"},
        {"restartPolicyRules": [{"action": "Restart"}]},
    ),
    containers(
        "resize policies of a pod that never restarts",
        {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]},
        {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]},
        spec={"restartPolicy": "Never"},
    ),
    posts(
        "init containers",
        PODS,
        [pod({"initContainers": [{"name": "i", "image": "i:1", **row}]}) for row in INIT],
    ),
]
