"""Runtime classes, priority classes, pod security and the small steps of admission."""

from typing import Any

from tests.upstream.cases.admission_quota import WAIT, claim, container, pod
from tests.upstream.exchange import MERGE, Case, Step

_RUNTIMES = "/apis/node.k8s.io/v1/runtimeclasses"
_PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
_NAMESPACE = "/api/v1/namespaces/{ns}"
_SECURITY = "pod-security.kubernetes.io"


def runtime(name: str, handler: str = "h", **fields: Any) -> Step:
    return Step(
        "POST", _RUNTIMES, {"metadata": {"name": "{ns}-" + name}, "handler": handler, **fields}
    )


def priority(name: str, value: int = 1, **fields: Any) -> Step:
    return Step("POST", _PRIORITIES, {"metadata": {"name": name}, "value": value, **fields})


def labels(**found: str) -> Step:
    named = {f"{_SECURITY}/{key.replace('_', '-')}": value for key, value in found.items()}
    return Step("PATCH", _NAMESPACE, {"metadata": {"labels": named}}, MERGE)


def secure(name: str, found: dict[str, str], *steps: Step) -> Case:
    return Case(f"pod security: {name}", [labels(**found), WAIT, *steps], managed=False)


def context(**fields: Any) -> dict[str, Any]:
    return {**container(), "securityContext": fields}


_GOOD = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
_TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container()]}}
_DEPLOYMENT = {
    "metadata": {"name": "d"},
    "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": _TEMPLATE},
}
_EVERYTHING = [
    pod("a", hostNetwork=True, hostPID=True),
    pod("b", context(privileged=True)),
    pod(
        "c",
        context(capabilities={"add": ["NET_ADMIN", "CHOWN"]}),
        {**context(capabilities={"add": ["SYS_TIME"]}), "name": "d"},
    ),
    pod(
        "d",
        volumes=[
            {"name": "v", "hostPath": {"path": "/"}},
            {"name": "w", "hostPath": {"path": "/"}},
        ],
    ),
    pod(
        "e",
        {
            **container(),
            "ports": [{"containerPort": 80, "hostPort": 81}, {"containerPort": 82, "hostPort": 83}],
        },
    ),
    pod("f", context(seLinuxOptions={"type": "odd", "user": "u"})),
    pod("g", context(seccompProfile={"type": "Unconfined"})),
    pod("h", securityContext={"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}),
    pod("i", securityContext={"appArmorProfile": {"type": "Unconfined"}}),
    pod("j", {**container(), "livenessProbe": {"httpGet": {"port": 80, "host": "10.0.0.1"}}}),
    pod("k", context(**_GOOD)),
    pod("l", context(**_GOOD), volumes=[{"name": "v", "nfs": {"server": "s", "path": "/"}}]),
    pod("m", context(**{**_GOOD, "runAsUser": 0})),
    pod("n", context(**{**_GOOD, "runAsNonRoot": False})),
    pod(
        "o",
        securityContext={
            "runAsNonRoot": True,
            "seccompProfile": {"type": "Localhost", "localhostProfile": "x"},
        },
    ),
    pod("p"),
    pod("q", os={"name": "windows"}),
    pod(
        "r",
        os={"name": "windows"},
        hostNetwork=True,
        securityContext={"windowsOptions": {"hostProcess": True}},
    ),
]

_ACCOUNT = {
    "metadata": {
        "name": "strict",
        "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"},
    },
    "secrets": [{"name": "known"}],
    "imagePullSecrets": [{"name": "pull"}],
}


def strict(name: str, *containers: dict[str, Any], **spec: Any) -> Step:
    return pod(name, *containers, serviceAccountName="strict", **spec)


def mirror(name: str, **spec: Any) -> Step:
    note = {"kubernetes.io/config.mirror": "x"}
    full = {"containers": [container()], "nodeName": "n", **spec}
    metadata = {"name": name, "annotations": note}
    return Step("POST", f"{_NAMESPACE}/pods", {"metadata": metadata, "spec": full})


def secret_env(secret: str) -> dict[str, Any]:
    source = {"secretKeyRef": {"name": secret, "key": "k"}}
    return {**container(), "env": [{"name": "E", "valueFrom": source}]}


CASES = [
    Case(
        "accounts that name the secrets of their pods",
        [
            Step("POST", f"{_NAMESPACE}/serviceaccounts", _ACCOUNT),
            WAIT,
            strict("a"),
            strict("b", volumes=[{"name": "v", "secret": {"secretName": "other"}}]),
            strict("c", volumes=[{"name": "v", "secret": {"secretName": "known"}}]),
            strict("d", secret_env("other")),
            strict("e", secret_env("known")),
            strict("f", initContainers=[{**secret_env("other"), "name": "i"}]),
            strict("g", {**container(), "envFrom": [{"secretRef": {"name": "other"}}]}),
            strict("h", imagePullSecrets=[{"name": "other"}]),
            strict("i", imagePullSecrets=[{"name": "pull"}]),
            pod("j", serviceAccountName="absent"),
        ],
        managed=False,
    ),
    Case(
        "what mirror pods may not name",
        [
            mirror("a"),
            mirror("b", serviceAccountName="default"),
            mirror("c", volumes=[{"name": "v", "secret": {"secretName": "s"}}]),
            mirror(
                "d",
                volumes=[
                    {
                        "name": "v",
                        "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]},
                    }
                ],
            ),
            mirror("e", containers=[secret_env("s")]),
        ],
        managed=False,
    ),
    Case(
        "runtime class that is absent",
        [pod("a", runtimeClassName="absent"), Step("GET", f"{_RUNTIMES}/absent")],
        managed=False,
    ),
    Case(
        "runtime class with overhead",
        [
            runtime("a", overhead={"podFixed": {"cpu": "100m", "memory": "64Mi"}}),
            pod("a", runtimeClassName="{ns}-a"),
            pod("b", runtimeClassName="{ns}-a", overhead={"cpu": "1"}),
            pod("c", runtimeClassName="{ns}-a", overhead={"cpu": "0.1", "memory": "64Mi"}),
            pod("d", overhead={"cpu": "1"}),
        ],
        managed=False,
    ),
    Case(
        "runtime class with scheduling",
        [
            runtime(
                "a",
                scheduling={
                    "nodeSelector": {"kubernetes.io/os": "windows", "x": "y"},
                    "tolerations": [
                        {
                            "key": "os",
                            "operator": "Equal",
                            "value": "windows",
                            "effect": "NoSchedule",
                        }
                    ],
                },
            ),
            pod("a", runtimeClassName="{ns}-a"),
            pod("b", runtimeClassName="{ns}-a", nodeSelector={"x": "z"}),
            pod("c", runtimeClassName="{ns}-a", nodeSelector={"a": "b", "x": "y"}),
            pod(
                "d",
                runtimeClassName="{ns}-a",
                tolerations=[{"key": "os", "operator": "Exists"}],
            ),
            pod("e", runtimeClassName="{ns}-a", tolerations=[{"operator": "Exists"}]),
        ],
        managed=False,
    ),
    Case(
        "runtime classes that are none",
        [
            runtime("a", ""),
            runtime("b", "Upper"),
            runtime("c", overhead={"podFixed": {"foo": "1"}}),
            runtime("d", overhead={"podFixed": {"cpu": "-1"}}),
            runtime("e", scheduling={"nodeSelector": {"a b": "c"}}),
            runtime("f", scheduling={"tolerations": [{"key": "a", "operator": "Odd"}]}),
            runtime(
                "g",
                scheduling={"tolerations": [{"key": "a", "operator": "Exists"}] * 2},
            ),
            runtime("h"),
            Step("PATCH", _RUNTIMES + "/{ns}-h", {"handler": "other"}, MERGE),
        ],
        managed=False,
    ),
    Case(
        "priority classes",
        [
            priority("{ns}-a", 1000, preemptionPolicy="Never"),
            WAIT,
            pod("a", priorityClassName="{ns}-a"),
            pod("b", priorityClassName="{ns}-a", priority=5),
            pod("c", priorityClassName="{ns}-a", preemptionPolicy="PreemptLowerPriority"),
            pod("d", priorityClassName="{ns}-a", preemptionPolicy="Never", priority=1000),
            pod("e", priority=5),
            pod("f", preemptionPolicy="Never"),
            pod("g", priorityClassName="absent"),
            pod("h", priorityClassName="system-node-critical"),
            Step("PATCH", f"{_PRIORITIES}/" + "{ns}-a", {"value": 5}, MERGE),
            Step(
                "PATCH",
                f"{_PRIORITIES}/" + "{ns}-a",
                {"preemptionPolicy": "PreemptLowerPriority"},
                MERGE,
            ),
            Step("PATCH", f"{_PRIORITIES}/" + "{ns}-a", {"description": "x"}, MERGE),
        ],
        managed=False,
    ),
    Case(
        "priority classes that are none",
        [
            priority("system-odd"),
            priority("system-node-critical", 5),
            priority("{ns}-big", 1_000_000_001),
            priority("{ns}-odd", preemptionPolicy="Odd"),
        ],
        managed=False,
    ),
    Case(
        "one default priority class at most",
        [
            priority("{ns}-a", 7, globalDefault=True),
            WAIT,
            priority("{ns}-b", 8, globalDefault=True),
            priority("{ns}-c", 9),
            Step("PATCH", f"{_PRIORITIES}/" + "{ns}-c", {"globalDefault": True}, MERGE),
            Step("PATCH", f"{_PRIORITIES}/" + "{ns}-a", {"description": "x"}, MERGE),
            pod("a"),
            Step("DELETE", f"{_PRIORITIES}/" + "{ns}-a"),
            WAIT,
            pod("b"),
        ],
        managed=False,
    ),
    secure("baseline", {"enforce": "baseline"}, *_EVERYTHING),
    secure("restricted", {"enforce": "restricted"}, *_EVERYTHING),
    secure(
        "restricted of old", {"enforce": "restricted", "enforce_version": "v1.18"}, *_EVERYTHING
    ),
    secure(
        "restricted of 1.24", {"enforce": "restricted", "enforce_version": "v1.24"}, *_EVERYTHING
    ),
    secure("warn and audit", {"warn": "restricted", "audit": "baseline"}, *_EVERYTHING),
    secure(
        "templates are warned about",
        {"enforce": "baseline", "warn": "restricted", "warn_version": "v1.30"},
        Step("POST", "/apis/apps/v1/namespaces/{ns}/deployments", _DEPLOYMENT),
    ),
    secure(
        "enforcing warns as well",
        {"enforce": "restricted"},
        Step("POST", "/apis/apps/v1/namespaces/{ns}/deployments", _DEPLOYMENT),
    ),
    Case(
        "pod security: labels that are none",
        [
            labels(enforce="odd"),
            labels(enforce_version="v2"),
            labels(warn="odd", audit="odd", audit_version="1.20"),
            Step(
                "POST",
                "/api/v1/namespaces",
                {"metadata": {"name": "{ns}-x", "labels": {f"{_SECURITY}/enforce": "odd"}}},
            ),
        ],
        managed=False,
    ),
    Case(
        "pod security: pods that are there already",
        [
            pod("b", hostNetwork=True),
            pod("a", hostNetwork=True),
            pod("c", context(**_GOOD)),
            pod("d", context(privileged=True)),
            WAIT,
            labels(enforce="baseline"),
            labels(enforce="restricted"),
            labels(enforce="privileged"),
        ],
        managed=False,
    ),
    Case(
        "new nodes are not ready",
        [
            Step("POST", "/api/v1/nodes", {"metadata": {"name": "{ns}-a"}}),
            Step(
                "POST",
                "/api/v1/nodes",
                {
                    "metadata": {"name": "{ns}-b"},
                    "spec": {"taints": [{"key": "a", "effect": "NoExecute"}]},
                },
            ),
            Step("DELETE", "/api/v1/nodes/{ns}-a"),
            Step("DELETE", "/api/v1/nodes/{ns}-b"),
        ],
        managed=False,
    ),
    Case(
        "claims that may not grow",
        [
            claim("a", "1Gi", "absent"),
            Step(
                "PATCH",
                f"{_NAMESPACE}/persistentvolumeclaims/a/status",
                {"status": {"phase": "Bound"}},
                MERGE,
            ),
            Step(
                "PATCH",
                f"{_NAMESPACE}/persistentvolumeclaims/a",
                {"spec": {"resources": {"requests": {"storage": "2Gi"}}}},
                MERGE,
            ),
        ],
        managed=False,
    ),
    Case(
        "the default class of an ingress",
        [
            Step(
                "POST",
                "/apis/networking.k8s.io/v1/ingressclasses",
                {
                    "metadata": {
                        "name": "{ns}-a",
                        "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"},
                    },
                    "spec": {"controller": "example.com/c"},
                },
            ),
            WAIT,
            Step(
                "POST",
                "/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses",
                {
                    "metadata": {"name": "i"},
                    "spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}},
                },
            ),
            Step("DELETE", "/apis/networking.k8s.io/v1/ingressclasses/{ns}-a"),
        ],
        managed=False,
    ),
]
