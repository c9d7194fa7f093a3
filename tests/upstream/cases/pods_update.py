"""Changes of a pod: what may change, what may not, and through which part."""

from typing import Any

from tests.upstream.exchange import JSON_PATCH, MERGE, STRATEGIC, Answers, Case, Step
from tests.upstream.variants import CONTAINER, PODS, pod

POD = f"{PODS}/p"
FULL = pod(
    {
        "containers": [{**CONTAINER, "resources": {"requests": {"cpu": "100m"}}}],
        "initContainers": [{"name": "i", "image": "i:1"}],
        "activeDeadlineSeconds": 100,
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "nodeSelector": {"a": "b"},
        "schedulingGates": [{"name": "g"}, {"name": "h"}],
    },
    labels={"a": "b"},
)


def _changes(name: str, base: Any, *patches: Any, path: str = POD) -> Case:
    """Every patch is a dry run: each meets the same pod."""
    steps = [Step("POST", PODS, base)]
    steps += [
        Step("PATCH", f"{path}?dryRun=All", patch, JSON_PATCH if isinstance(patch, list) else MERGE)
        for patch in patches
    ]
    return Case(name, steps, managed=False)


def _set(path: str, value: Any) -> list[dict[str, Any]]:
    return [{"op": "add", "path": path, "value": value}]


def _drop(path: str) -> list[dict[str, Any]]:
    return [{"op": "remove", "path": path}]


def _spec(**row: Any) -> dict[str, Any]:
    return {"spec": row}


def _replaced(answers: Answers) -> Any:
    body = answers[-1].body
    body["metadata"]["labels"] = {"x": "y"}
    return body


CASES = [
    _changes(
        "what may change",
        FULL,
        _set("/spec/containers/0/image", "other"),
        _set("/spec/initContainers/0/image", "other"),
        _spec(activeDeadlineSeconds=50),
        _spec(activeDeadlineSeconds=200),
        _spec(activeDeadlineSeconds=0),
        _drop("/spec/activeDeadlineSeconds"),
        _set("/spec/tolerations/-", {"key": "n", "operator": "Exists"}),
        _set("/spec/tolerations/0/tolerationSeconds", 5),
        _drop("/spec/tolerations/0"),
        _set("/spec/tolerations/0/key", "z"),
        _drop("/spec/schedulingGates/0"),
        _set("/spec/schedulingGates/-", {"name": "new"}),
        {"metadata": {"labels": {"c": "d"}}},
        {"metadata": {"labels": {"c d": "d"}}},
        {"metadata": {"annotations": {"c": "d"}}},
        {"metadata": {"annotations": {"kubernetes.io/config.mirror": "d"}}},
        {"metadata": {"annotations": {"container.apparmor.security.beta.kubernetes.io/c": "x"}}},
        {"metadata": {"finalizers": ["a/b"]}},
        {"metadata": {"name": "other"}},
        {"metadata": {"namespace": "other"}},
        {"metadata": {"uid": "other"}},
        {"metadata": {"generation": 7}},
        {"status": {"phase": "Running"}},
    ),
    _changes(
        "what a gated pod may also change",
        FULL,
        _spec(nodeSelector={"c": "d"}),
        _spec(nodeSelector={"a": "z"}),
        _spec(nodeSelector=None),
        _spec(
            affinity={
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
                        ]
                    }
                }
            }
        ),
    ),
    _changes(
        "what a pod without gates may not change",
        pod({"nodeSelector": {"a": "b"}}),
        _spec(nodeSelector={"c": "d"}),
        _spec(schedulingGates=[{"name": "g"}]),
        _spec(nodeName="n"),
        _spec(restartPolicy="Never"),
        _spec(hostNetwork=True),
        _spec(serviceAccountName="other"),
        _spec(terminationGracePeriodSeconds=5),
        _spec(containers=[]),
        _set("/spec/containers/-", {"name": "n", "image": "i"}),
        _set("/spec/containers/0/name", "n"),
        _set("/spec/containers/0/image", ""),
        _set("/spec/containers/0/image", " x"),
        _set("/spec/containers/0/command", ["x"]),
        _set("/spec/containers/0/resources", {"requests": {"cpu": "1"}}),
        _set("/spec/containers/0/env", [{"name": "A"}]),
        _set("/spec/volumes", [{"name": "n", "emptyDir": {}}]),
        _set("/spec/ephemeralContainers", [{"name": "e", "image": "i"}]),
        _spec(hostname="h", subdomain="s"),
        _spec(priority=7),
        _spec(securityContext={"runAsUser": 5}),
        _spec(dnsPolicy="Default"),
        _spec(os={"name": "linux"}),
    ),
    Case(
        "a pod is replaced",
        [
            Step("POST", PODS, pod()),
            Step("GET", POD),
            Step("PUT", POD, _replaced),
            Step("PUT", POD, pod({"restartPolicy": "Never"})),
            Step("PUT", POD, pod(None, resourceVersion="1")),
            Step("PUT", POD, pod(None, uid="x")),
            Step("PUT", POD, {"metadata": {"name": "other"}, "spec": {}}),
            Step("PUT", f"{PODS}/absent", pod(None, name="absent")),
            Step("PATCH", POD, {"spec": {"containers": [{"name": "c", "image": "n"}]}}, STRATEGIC),
            Step("PATCH", POD, {"spec": {"containers": [{"name": "z", "image": "n"}]}}, STRATEGIC),
            Step("GET", POD),
        ],
        watch=[PODS],
        managed=False,
    ),
]
