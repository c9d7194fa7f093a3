"""Corners of pods: combinations, templates of workloads, several faults at once."""

from typing import Any

from tests.upstream.exchange import MERGE, Case, Step
from tests.upstream.variants import CONTAINER, DRY, PODS, containers, merged, pod, pods, posts

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
DEPLOYMENTS = "/apis/apps/v1/namespaces/{ns}/deployments"

WARNS = {"containers": [CONTAINER], "nodeSelector": {"beta.kubernetes.io/os": "linux"}}
LABELS = {"metadata": {"labels": {"a": "b"}}}
OWNED = {"selector": {"matchLabels": {"a": "b"}}, "template": {**LABELS, "spec": WARNS}}
ONCE = {**LABELS, "spec": {**WARNS, "restartPolicy": "Never"}}


def _deployment(spec: dict[str, Any], **metadata: Any) -> Any:
    return {
        "metadata": {"name": "d"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}, **metadata},
                "spec": merged({"containers": [CONTAINER]}, spec),
            },
        },
    }


CASES = [
    pods(
        "many faults at once",
        {
            "containers": [
                {"name": "A", "image": " ", "ports": [{"containerPort": 0, "name": "A"}]},
                {"name": "b", "env": [{"name": ""}], "volumeMounts": [{"name": "x"}]},
                {"name": "b", "image": "i", "imagePullPolicy": "Maybe", "livenessProbe": {}},
            ],
            "initContainers": [{"name": "b", "lifecycle": {}}],
            "volumes": [{"name": "V", "hostPath": {}}, {"name": "w", "secret": {}}],
            "restartPolicy": "Maybe",
            "dnsPolicy": "Maybe",
            "nodeSelector": {"a b": "c"},
            "securityContext": {"runAsUser": -1, "fsGroup": -1, "seccompProfile": {}},
            "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}},
            "tolerations": [{"operator": "Maybe"}],
            "hostAliases": [{"ip": "x", "hostnames": ["_"]}],
            "schedulingGates": [{"name": "a b"}],
            "readinessGates": [{"conditionType": "a b"}],
            "topologySpreadConstraints": [{}],
            "hostname": "A",
            "subdomain": "B",
            "activeDeadlineSeconds": 0,
            "preemptionPolicy": "Maybe",
            "os": {"name": "windows"},
            "hostPID": True,
        },
    ),
    pods(
        "claims of ephemeral volumes",
        {
            "volumes": [
                {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}},
                {"name": "w", "persistentVolumeClaim": {"claimName": "p-v"}},
            ]
        },
        {
            "volumes": [
                {
                    "name": "v",
                    "ephemeral": {
                        "volumeClaimTemplate": {
                            "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
                            "spec": merged(CLAIM, {"resources": {"requests": {"storage": "1.5"}}}),
                        }
                    },
                }
            ]
        },
    ),
    containers(
        "ports that meet",
        {"ports": [{"containerPort": 80, "hostIP": "1.2.3.4"}]},
        {"ports": [{"containerPort": 80, "hostPort": 1}, {"containerPort": 80}]},
        {
            "ports": [
                {"containerPort": 80, "hostPort": 1, "hostIP": "1.2.3.4"},
                {"containerPort": 80, "hostPort": 1},
            ]
        },
        {
            "ports": [
                {"containerPort": 80, "hostPort": 1, "hostIP": "1.2.3.4"},
                {"containerPort": 80, "hostPort": 2, "hostIP": "1.2.3.4"},
            ]
        },
    ),
    pods(
        "ports of sidecars",
        {
            "initContainers": [
                {
                    "name": "i",
                    "image": "i",
                    "restartPolicy": "Always",
                    "ports": [{"containerPort": 80, "name": "web"}],
                }
            ],
            "containers": [merged(CONTAINER, {"ports": [{"containerPort": 81, "name": "web"}]})],
        },
    ),
    pods(
        "quality of service",
        *(
            {"containers": [merged(CONTAINER, {"resources": row})]}
            for row in (
                {},
                {"requests": {"cpu": "1"}},
                {"limits": {"cpu": "1"}},
                {"limits": {"cpu": "1", "memory": "1Gi"}},
                {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1"}},
                {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}},
                {"requests": {"ephemeral-storage": "1Gi"}},
                {"limits": {"cpu": "0", "memory": "0"}},
            )
        ),
    ),
    posts(
        "old annotations beside fields",
        PODS,
        [
            pod(
                {"securityContext": {field: {"type": "RuntimeDefault"}}},
                annotations={key: value},
            )
            for field, key, value in (
                ("seccompProfile", "seccomp.security.alpha.kubernetes.io/pod", "runtime/default"),
                ("seccompProfile", "seccomp.security.alpha.kubernetes.io/pod", "unconfined"),
                (
                    "seccompProfile",
                    "container.seccomp.security.alpha.kubernetes.io/c",
                    "localhost/x",
                ),
                (
                    "appArmorProfile",
                    "container.apparmor.security.beta.kubernetes.io/c",
                    "runtime/default",
                ),
                (
                    "appArmorProfile",
                    "container.apparmor.security.beta.kubernetes.io/c",
                    "unconfined",
                ),
                (
                    "appArmorProfile",
                    "container.apparmor.security.beta.kubernetes.io/c",
                    "localhost/x",
                ),
            )
        ],
    ),
    Case(
        "templates of workloads",
        [
            Step("POST", f"{DEPLOYMENTS}{DRY}", body)
            for body in (
                _deployment({}),
                _deployment(
                    {
                        "hostNetwork": True,
                        "containers": [{**CONTAINER, "ports": [{"containerPort": 80}]}],
                    }
                ),
                _deployment(
                    {
                        "hostNetwork": True,
                        "containers": [
                            {**CONTAINER, "ports": [{"containerPort": 80, "hostPort": 8}]}
                        ],
                    }
                ),
                _deployment({"containers": [{**CONTAINER, "image": " x "}]}),
                _deployment({"ephemeralContainers": [{"name": "e", "image": "i"}]}),
                _deployment({"os": {"name": "windows"}, "hostPID": True}),
                _deployment({"volumes": [{"name": "g", "gitRepo": {"repository": "r"}}]}),
                _deployment({"hostnameOverride": "x"}),
                _deployment({}, annotations={"controller.kubernetes.io/pod-deletion-cost": "x"}),
                _deployment({}, annotations={"seccomp.security.alpha.kubernetes.io/pod": "x"}),
                _deployment({"containers": []}),
                _deployment({"terminationGracePeriodSeconds": -5}),
                _deployment({"nodeName": "N_", "schedulerName": ""}),
                _deployment({"resources": {"limits": {"cpu": "1"}}}),
            )
        ],
        managed=False,
    ),
    Case(
        "templates that warn",
        [
            Step("POST", f"/apis/{path}{DRY}", {"metadata": {"name": name}, "spec": spec})
            for name in ("d", "d.e")
            for path, spec in (
                ("apps/v1/namespaces/{ns}/deployments", OWNED),
                ("apps/v1/namespaces/{ns}/replicasets", OWNED),
                ("apps/v1/namespaces/{ns}/daemonsets", OWNED),
                ("apps/v1/namespaces/{ns}/statefulsets", {**OWNED, "serviceName": "x"}),
                ("batch/v1/namespaces/{ns}/jobs", {"template": ONCE}),
                (
                    "batch/v1/namespaces/{ns}/cronjobs",
                    {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": ONCE}}},
                ),
            )
        ],
        managed=False,
    ),
    Case(
        "changes that warn",
        [
            Step("POST", DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": OWNED}),
            Step("PATCH", f"{DEPLOYMENTS}/d", {"spec": {"replicas": 2}}, MERGE),
            Step("PATCH", f"{DEPLOYMENTS}/d", {"metadata": {"labels": {"x": "y"}}}, MERGE),
        ],
        managed=False,
    ),
]
