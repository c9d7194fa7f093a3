"""The parts of a pod: status, ephemeral containers, resize, binding, eviction, deletion."""

from typing import Any

from tests.upstream.exchange import JSON_PATCH, MERGE, Case, Step
from tests.upstream.variants import CONTAINER, DRY, PODS, pod

POD = f"{PODS}/p"
SIZED = {**CONTAINER, "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "200m"}}}


def _statuses(name: str, *statuses: dict[str, Any]) -> Case:
    steps = [Step("POST", PODS, pod())]
    steps += [Step("PATCH", f"{POD}/status{DRY}", {"status": row}, MERGE) for row in statuses]
    return Case(name, steps, managed=False)


def _state(**state: Any) -> dict[str, Any]:
    base = {"name": "c", "image": "i", "imageID": "", "ready": True, "restartCount": 0}
    return {"containerStatuses": [{**base, "state": state}]}


def _debug(*containers: dict[str, Any]) -> Step:
    body = {"spec": {"ephemeralContainers": list(containers)}}
    return Step("PATCH", f"{POD}/ephemeralcontainers", body, MERGE)


def _resize(**resources: Any) -> Step:
    body = [{"op": "add", "path": "/spec/containers/0/resources", "value": resources}]
    return Step("PATCH", f"{POD}/resize{DRY}", body, JSON_PATCH)


def _bind(**binding: Any) -> Step:
    return Step("POST", f"{POD}/binding", {"metadata": {"name": "p"}, **binding})


NODE = {"kind": "Node", "name": "n"}
CASES = [
    _statuses(
        "status",
        {"phase": "Running"},
        {"phase": "Dancing"},
        {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]},
        {"podIP": "10.0.0.1"},
        {"podIPs": [{"ip": "10.0.0.1"}]},
        {"podIPs": [{"ip": "x"}]},
        {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]},
        {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "::1"}]},
        {"podIPs": [{"ip": "010.0.0.1"}]},
        {"hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.1"}]},
        {"hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.2"}]},
        {"hostIPs": [{"ip": "x"}]},
        {"nominatedNodeName": "n"},
        {"nominatedNodeName": "N_"},
        {"qosClass": "Guaranteed"},
        {"qosClass": None},
        {"startTime": "2020-01-01T00:00:00Z"},
        {"conditions": [{"type": "Ready", "status": "True"}]},
        {"conditions": [{"type": "Ready", "status": "True"}] * 2},
        {"conditions": [{"type": "a b", "status": "True"}]},
        {"conditions": [{"type": "Ready", "status": "True", "observedGeneration": -1}]},
        {"observedGeneration": -1},
        _state(running={"startedAt": "2020-01-01T00:00:00Z"}),
        _state(waiting={"reason": "r"}),
        _state(terminated={"exitCode": 1}),
        {"containerStatuses": [{"name": "z"}]},
        {"resourceClaimStatuses": [{"name": "z"}]},
        {"reason": "r", "message": "m"},
        {"resize": "Proposed"},
    ),
    Case(
        "containers do not come back",
        [
            Step("POST", PODS, pod({"restartPolicy": "Never", "nodeName": "n"})),
            Step("PATCH", f"{POD}/status", {"status": _state(terminated={"exitCode": 1})}, MERGE),
            Step("PATCH", f"{POD}/status", {"status": _state(running={}, terminated=None)}, MERGE),
            Step("PATCH", f"{POD}/status", {"spec": {"nodeName": "z"}}, MERGE),
            Step("PATCH", f"{POD}/status", {"metadata": {"labels": {"a": "b"}}}, MERGE),
            Step("PATCH", f"{POD}/status", {"status": {"phase": "Succeeded"}}, MERGE),
            Step("GET", f"{POD}/status"),
        ],
        managed=False,
    ),
    Case(
        "ephemeral containers",
        [
            Step("POST", PODS, pod({"volumes": [{"name": "v", "emptyDir": {}}]})),
            _debug({"name": "c", "image": "i"}),
            _debug({"name": "e"}),
            _debug({"name": "e", "image": "i", "targetContainerName": "z"}),
            _debug({"name": "e", "image": "i", "ports": [{"containerPort": 1}]}),
            _debug({"name": "e", "image": "i", "livenessProbe": {"tcpSocket": {"port": 1}}}),
            _debug(
                {"name": "e", "image": "i", "lifecycle": {"preStop": {"sleep": {"seconds": 1}}}}
            ),
            _debug({"name": "e", "image": "i", "resources": {"limits": {"cpu": "1"}}}),
            _debug(
                {
                    "name": "e",
                    "image": "i",
                    "volumeMounts": [{"name": "v", "mountPath": "/m", "subPath": "s"}],
                }
            ),
            _debug({"name": "e", "image": " i"}),
            _debug({"name": "e", "image": "i", "targetContainerName": "c", "stdin": True}),
            _debug({"name": "e", "image": "other"}),
            _debug(),
            _debug({"name": "e", "image": "i", "targetContainerName": "c", "stdin": True}),
            _debug(
                {"name": "e", "image": "i", "targetContainerName": "c", "stdin": True},
                {"name": "f", "image": "i"},
            ),
            Step("GET", f"{POD}/ephemeralcontainers"),
            Step(
                "PATCH",
                f"{POD}/ephemeralcontainers",
                {"metadata": {"labels": {"a": "b"}}, "spec": {"hostNetwork": True}},
                MERGE,
            ),
        ],
        managed=False,
    ),
    Case(
        "resize",
        [
            Step("POST", PODS, pod({"containers": [SIZED], "nodeName": "n"})),
            _resize(requests={"cpu": "150m"}, limits={"cpu": "200m"}),
            _resize(requests={"cpu": "300m"}, limits={"cpu": "200m"}),
            _resize(requests={"cpu": "100m"}),
            _resize(limits={"cpu": "200m"}),
            _resize(),
            _resize(requests={"cpu": "200m"}, limits={"cpu": "200m"}),
            _resize(requests={"cpu": "100m", "memory": "1Gi"}, limits={"cpu": "200m"}),
            _resize(requests={"cpu": "100m", "example.com/x": "1"}, limits={"cpu": "200m"}),
            _resize(
                requests={"cpu": "200m", "memory": "1Gi"}, limits={"cpu": "200m", "memory": "1Gi"}
            ),
            Step(
                "PATCH",
                f"{POD}/resize{DRY}",
                {"spec": {"containers": [{**SIZED, "image": "other"}]}},
                MERGE,
            ),
            Step("PATCH", f"{POD}/resize{DRY}", {"metadata": {"labels": {"a": "b"}}}, MERGE),
            Step("PATCH", f"{POD}/resize{DRY}", {"spec": {"containers": []}}, MERGE),
        ],
        managed=False,
    ),
    Case(
        "resize of a windows pod",
        [
            Step("POST", PODS, pod({"containers": [SIZED], "os": {"name": "windows"}})),
            _resize(requests={"cpu": "150m"}, limits={"cpu": "200m"}),
        ],
        managed=False,
    ),
    Case(
        "binding",
        [
            Step("POST", PODS, pod()),
            _bind(),
            _bind(target={"kind": "Pod", "name": "n"}),
            _bind(target={"kind": "Node"}),
            _bind(target=NODE, metadata={"name": "z"}),
            _bind(target=NODE, metadata={"name": "p", "annotations": {"a": "b"}}),
            _bind(target=NODE),
            Step("GET", POD),
            Step(
                "POST",
                "/api/v1/namespaces/{ns}/bindings",
                {"metadata": {"name": "absent"}, "target": NODE},
            ),
        ],
        managed=False,
    ),
    Case(
        "binding of a gated pod",
        [Step("POST", PODS, pod({"schedulingGates": [{"name": "g"}]})), _bind(target=NODE)],
        managed=False,
    ),
    Case(
        "eviction and deletion",
        [
            Step("POST", PODS, pod({"nodeName": "n"})),
            Step("POST", f"{POD}/eviction", {"metadata": {"name": "z"}}),
            Step(
                "POST",
                f"{POD}/eviction",
                {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}},
            ),
            Step("GET", POD),
            Step("DELETE", POD),
            Step("DELETE", f"{POD}?gracePeriodSeconds=1"),
            Step("DELETE", f"{POD}?gracePeriodSeconds=0"),
            Step("DELETE", POD),
            Step("POST", f"{POD}/eviction", {"metadata": {"name": "p"}}),
        ],
        watch=[PODS],
        managed=False,
    ),
    *(
        Case(
            f"deletion of a pod {name}",
            [
                Step("POST", PODS, pod(spec)),
                *([Step("PATCH", f"{POD}/status", {"status": status}, MERGE)] if status else []),
                Step("DELETE", f"{POD}{query}", body),
                Step("GET", POD),
            ],
            watch=[PODS],
            managed=False,
        )
        for name, spec, status, query, body in (
            ("without a node", {}, None, "", None),
            ("without a node, slowly", {}, None, "?gracePeriodSeconds=5", None),
            ("at once", {"nodeName": "n"}, None, "?gracePeriodSeconds=0", None),
            ("that has ended", {"nodeName": "n"}, {"phase": "Succeeded"}, "", None),
            ("slowly", {"nodeName": "n"}, None, "?gracePeriodSeconds=5", None),
            ("in the background", {"nodeName": "n"}, None, "", {"propagationPolicy": "Background"}),
            ("as a rehearsal", {"nodeName": "n"}, None, "?dryRun=All", None),
            ("with a strange grace", {"nodeName": "n"}, None, "?gracePeriodSeconds=-1", None),
            (
                "and with a finalizer",
                {"nodeName": "n"},
                None,
                "",
                {"gracePeriodSeconds": 0, "propagationPolicy": "Foreground"},
            ),
        )
    ),
    Case(
        "label keys join the selectors",
        [
            Step(
                "POST",
                PODS,
                pod(
                    {
                        "topologySpreadConstraints": [
                            {
                                "maxSkew": 1,
                                "topologyKey": "zone",
                                "whenUnsatisfiable": "DoNotSchedule",
                                "labelSelector": {"matchLabels": {"x": "y"}},
                                "matchLabelKeys": keys,
                            }
                        ],
                        "affinity": {
                            "podAffinity": {
                                "requiredDuringSchedulingIgnoredDuringExecution": [
                                    {
                                        "topologyKey": "zone",
                                        "labelSelector": {"matchLabels": {"x": "y"}},
                                        "matchLabelKeys": ["app"],
                                        "mismatchLabelKeys": ["tier"],
                                    }
                                ]
                            }
                        },
                    },
                    name=name,
                    labels={"app": "a", "tier": "t", "x": "y"},
                ),
            )
            for name, keys in (("p", ["app"]), ("q", ["x"]), ("r", ["none"]))
        ],
        managed=False,
    ),
]
