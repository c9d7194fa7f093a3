"""What ``kubectl get`` shows: rows of objects in states that only their controllers bring about."""

from collections.abc import Mapping
from typing import Any

from tests.upstream.exchange import MERGE, Case, Step
from tests.upstream.variants import CONTAINER, PODS, pod

TABLE = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
LATER = "2099-01-01T00:00:00Z"  # no age of it changes while tests run
Json = Mapping[str, Any]


def _shown(name: str, collection: str, body: Json, *states: Json) -> Case:
    """One object and its row, first as it was made and then with each status."""
    item = f"{collection}/{body['metadata']['name']}"
    steps = [Step("POST", collection, body), Step("GET", item, headers=TABLE)]
    for state in states:
        steps.append(Step("PATCH", f"{item}/status", {"status": state}, MERGE))
        steps.append(Step("GET", item, headers=TABLE))
    return Case(name, steps, managed=False)


def _in(group: str, plural: str) -> str:
    return f"/apis/{group}/namespaces/{{ns}}/{plural}"


def _named(**content: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, **content}


def _container(state: Json, name: str = "c", **more: Any) -> dict[str, Any]:
    base = {"name": name, "image": "i", "imageID": "", "ready": False, "restartCount": 0}
    return {**base, "state": state, **more}


def _ended(code: int, **more: Any) -> dict[str, Any]:
    return {"terminated": {"exitCode": code, **more}}


def _replaced(**status: Any) -> dict[str, Any]:
    """A whole status of a pod, whatever stood there before."""
    parts = ("reason", "conditions", "containerStatuses", "initContainerStatuses", "podIPs")
    return {**dict.fromkeys(parts), "phase": "Running", **status}


READY = [{"type": "Ready", "status": "True"}]
INITIALIZED = [{"type": "Initialized", "status": "True"}]
RUNNING: Json = {"running": {}}
FELL = {"lastState": _ended(1, finishedAt=LATER), "restartCount": 3}
TWO = pod(
    {
        "containers": [CONTAINER, {**CONTAINER, "name": "d"}],
        "readinessGates": [{"conditionType": "g.io/a"}, {"conditionType": "g.io/b"}],
    }
)
STARTING = pod(
    {
        "initContainers": [
            {**CONTAINER, "name": "i"},
            {**CONTAINER, "name": "s", "restartPolicy": "Always"},
        ]
    }
)
POD_STATES = [
    _replaced(phase="Succeeded"),
    _replaced(phase="Failed"),
    _replaced(phase="Failed", reason="Evicted"),
    _replaced(conditions=[{"type": "PodScheduled", "status": "False", "reason": "X"}]),
    _replaced(containerStatuses=[_container({"waiting": {"reason": "ImagePullBackOff"}})]),
    _replaced(containerStatuses=[_container({"waiting": {}})]),
    _replaced(containerStatuses=[_container(RUNNING, ready=True), _container(RUNNING, "d")]),
    _replaced(containerStatuses=[_container(_ended(1)), _container(_ended(2, signal=9), "d")]),
    _replaced(containerStatuses=[_container(_ended(0, reason="Completed")), _container(RUNNING)]),
    _replaced(
        containerStatuses=[
            _container(_ended(0, reason="Completed")),
            _container(RUNNING, "d", ready=True),
        ]
    ),
    _replaced(
        conditions=[*READY, {"type": "g.io/b", "status": "True"}],
        containerStatuses=[
            _container(_ended(0, reason="Completed")),
            _container(RUNNING, "d", ready=True, **FELL),
        ],
        podIPs=[{"ip": "10.0.0.1"}, {"ip": "fd00::1"}],
        podIP="10.0.0.1",
        nominatedNodeName="n",
    ),
]
START_STATES = [
    _replaced(phase="Pending", initContainerStatuses=[_container(_ended(1), "i", **FELL)]),
    _replaced(phase="Pending", initContainerStatuses=[_container(_ended(1, reason="Error"), "i")]),
    _replaced(phase="Pending", initContainerStatuses=[_container(_ended(1, signal=9), "i")]),
    _replaced(phase="Pending", initContainerStatuses=[_container({"waiting": {}}, "i")]),
    _replaced(
        phase="Pending",
        initContainerStatuses=[_container({"waiting": {"reason": "CrashLoopBackOff"}}, "i")],
    ),
    _replaced(
        phase="Pending",
        initContainerStatuses=[
            _container(_ended(0, reason="Completed"), "i", restartCount=2),
            _container({"waiting": {"reason": "PodInitializing"}}, "s"),
        ],
    ),
    _replaced(
        initContainerStatuses=[
            _container(_ended(0), "i", restartCount=2),
            _container(RUNNING, "s", ready=True, started=True, restartCount=4),
        ],
        containerStatuses=[_container(RUNNING, ready=True)],
    ),
    _replaced(
        conditions=INITIALIZED,
        initContainerStatuses=[
            _container(_ended(0), "i", restartCount=2),
            _container(_ended(7), "s", **FELL),
        ],
        containerStatuses=[_container(RUNNING, ready=True)],
    ),
]


def _selected(**selector: Any) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"a": "1", "b": "x", "m": "2"}},
        "spec": {"containers": [CONTAINER, {**CONTAINER, "name": "d", "image": "j:2"}]},
    }
    return {"selector": selector, "template": template}


MIXED = _selected(
    matchLabels={"m": "2", "a": "1"},
    matchExpressions=[
        {"key": "b", "operator": "In", "values": ["y", "x"]},
        {"key": "z", "operator": "DoesNotExist"},
        {"key": "b", "operator": "Exists"},
        {"key": "c", "operator": "NotIn", "values": ["q"]},
    ],
)


def _balanced(*ingress: Json) -> dict[str, Any]:
    return {"loadBalancer": {"ingress": list(ingress)}}


def _job_state(kind: str, **more: Any) -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": "True"}], **more}


SERVICES = "/api/v1/namespaces/{ns}/services"
LONG = {"hostname": "a-very-long-name.of.a.balancer.example.com"}
BALANCER = _named(
    spec={
        "type": "LoadBalancer",
        "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 53, "protocol": "UDP"}],
        "allocateLoadBalancerNodePorts": False,
        "selector": {"b": "1", "a": "2"},
    }
)
INGRESS = _named(
    spec={
        "rules": [{"host": f"{name}.example.com"} for name in "dcba"] + [{}, {}],
        "tls": [{"hosts": ["a.example.com"]}],
        "ingressClassName": "c",
    }
)
VALUE = {"type": "Value", "value": "2"}
AVERAGE = {"type": "AverageValue", "averageValue": "1500m"}
SHARE = {"type": "Utilization", "averageUtilization": 50}
THING = {"kind": "Service", "name": "s"}


def _scaled(*metrics: Json) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    return _named(spec={"scaleTargetRef": target, "maxReplicas": 3, "metrics": list(metrics)})


def _seen(*metrics: Json) -> dict[str, Any]:
    return {"currentReplicas": 1, "desiredReplicas": 1, "currentMetrics": list(metrics)}


def _metric(kind: str, **content: Any) -> dict[str, Any]:
    return {"type": kind, kind[0].lower() + kind[1:]: content}


SCALERS = _in("autoscaling/v2", "horizontalpodautoscalers")
METRIC = {"name": "m"}
VOLUME = {
    "capacity": {"storage": "1500Mi"},
    "accessModes": ["ReadOnlyMany", "ReadWriteOnce"],
    "hostPath": {"path": "/x"},
    "claimRef": {"namespace": "n", "name": "c"},
}
OLD_CLASS = {"volume.beta.kubernetes.io/storage-class": "old"}
CLAIM = {
    "accessModes": ["ReadWriteMany"],
    "resources": {"requests": {"storage": "1Gi"}},
    "volumeName": "v",
}
EVENTS = "/api/v1/namespaces/{ns}/events"
ABOUT = {"kind": "Pod", "namespace": "{ns}", "name": "p", "fieldPath": "spec.containers{c}"}


def _event(name: str, **content: Any) -> Step:
    body = {"metadata": {"name": name, "namespace": "{ns}"}, "involvedObject": ABOUT, **content}
    return Step("POST", EVENTS, body)


CASES = [
    _shown("pods", PODS, TWO, *POD_STATES),
    _shown("pods that start", PODS, STARTING, *START_STATES),
    Case(
        "pods, listed and watched",
        [
            Step("POST", PODS, pod()),
            Step("PATCH", f"{PODS}/p/status", {"status": {"phase": "Succeeded"}}, MERGE),
            Step("GET", PODS, headers=TABLE),
            Step("GET", f"{PODS}?watch=1&timeoutSeconds=1", headers=TABLE),
        ],
        managed=False,
    ),
    _shown("deployments", _in("apps/v1", "deployments"), _named(spec=MIXED)),
    _shown("replica sets", _in("apps/v1", "replicasets"), _named(spec=MIXED)),
    _shown(
        "network policies",
        _in("networking.k8s.io/v1", "networkpolicies"),
        _named(spec={"podSelector": MIXED["selector"]}),
    ),
    _shown(
        "balanced services",
        SERVICES,
        BALANCER,
        _balanced(LONG),
        _balanced({"ip": "10.0.0.9"}, {"ip": "10.0.0.10"}, {"ip": "10.0.0.9"}),
    ),
    _shown(
        "services with addresses of others",
        SERVICES,
        _named(
            spec={
                "type": "LoadBalancer",
                "ports": [{"port": 80}],
                "externalIPs": ["192.0.2.1"],
                "allocateLoadBalancerNodePorts": False,
            }
        ),
        _balanced(LONG),
    ),
    _shown(
        "ingresses",
        _in("networking.k8s.io/v1", "ingresses"),
        INGRESS,
        _balanced({"ip": "10.0.0.9"}, LONG, {"ip": "10.0.0.10"}),
    ),
    _shown(
        "ingresses with three hosts",
        _in("networking.k8s.io/v1", "ingresses"),
        _named(spec={"rules": [{"host": f"{name}.example.com"} for name in "cba"] + [{}]}),
    ),
    _shown(
        "jobs",
        _in("batch/v1", "jobs"),
        _named(
            spec={
                "parallelism": 3,
                "completions": None,
                "suspend": True,
                "template": {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}},
            }
        ),
        _job_state("Suspended"),
    ),
    _shown(
        "autoscalers",
        SCALERS,
        _scaled(
            _metric("Resource", name="cpu", target=SHARE),
            _metric("Pods", metric=METRIC, target=AVERAGE),
            _metric("Object", metric=METRIC, describedObject=THING, target=VALUE),
        ),
        _seen(
            _metric("Resource", name="cpu", current={"averageUtilization": 7}),
            _metric("Pods", metric=METRIC, current={"averageValue": "0"}),
        ),
    ),
    _shown(
        "autoscalers on values",
        SCALERS,
        _scaled(
            _metric("External", metric=METRIC, target=AVERAGE),
            _metric("Object", metric=METRIC, describedObject=THING, target=VALUE),
        ),
        _seen(
            _metric("External", metric=METRIC, current={"value": "1"}),
            _metric("Object", metric=METRIC, describedObject=THING, current={"value": "1500m"}),
        ),
    ),
    Case(
        "autoscalers, of the first version",
        [
            Step(
                "POST",
                SCALERS,
                _scaled(
                    _metric("Resource", name="memory", target=AVERAGE),
                    _metric("Resource", name="cpu", target=SHARE),
                ),
            ),
            Step(
                "GET",
                f"{_in('autoscaling/v1', 'horizontalpodautoscalers')}/a",
                headers=TABLE,
            ),
        ],
        managed=False,
    ),
    Case(
        "volumes and claims",
        [
            Step(
                "POST",
                "/api/v1/persistentvolumes",
                {"metadata": {"name": "{ns}-v", "annotations": OLD_CLASS}, "spec": VOLUME},
            ),
            Step("GET", "/api/v1/persistentvolumes/{ns}-v", headers=TABLE),
            Step("DELETE", "/api/v1/persistentvolumes/{ns}-v"),
            Step("GET", "/api/v1/persistentvolumes/{ns}-v", headers=TABLE),
            Step(
                "POST",
                "/api/v1/namespaces/{ns}/persistentvolumeclaims",
                {"metadata": {"name": "a", "annotations": OLD_CLASS}, "spec": CLAIM},
            ),
            Step("GET", "/api/v1/namespaces/{ns}/persistentvolumeclaims/a", headers=TABLE),
            Step(
                "PATCH",
                "/api/v1/namespaces/{ns}/persistentvolumeclaims/a/status",
                {
                    "status": {
                        "phase": "Bound",
                        "accessModes": ["ReadWriteMany"],
                        "capacity": {"storage": "2Gi"},
                    }
                },
                MERGE,
            ),
            Step("GET", "/api/v1/namespaces/{ns}/persistentvolumeclaims/a", headers=TABLE),
        ],
        managed=False,
    ),
    Case(
        "events",
        [
            _event("a", reason="R", message=" m \n", type="Normal", source={"component": "c"}),
            _event("b", count=4, source={"component": "c", "host": "h"}, lastTimestamp=LATER),
            _event(
                "c",
                eventTime="2099-01-01T00:00:00.000000Z",
                reportingComponent="x.io/c",
                reportingInstance="i",
                action="A",
                reason="R",
                type="Warning",
                series={"count": 5, "lastObservedTime": "2099-01-01T00:00:00.000000Z"},
            ),
            Step("GET", EVENTS, headers=TABLE),
            Step("GET", f"{_in('events.k8s.io/v1', 'events')}", headers=TABLE),
        ],
        managed=False,
    ),
    Case(
        "endpoints",
        [
            Step("POST", "/api/v1/namespaces/{ns}/endpoints", body)
            for body in (
                {"metadata": {"name": "none"}},
                {
                    "metadata": {"name": "waiting"},
                    "subsets": [
                        {"notReadyAddresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}
                    ],
                },
                {
                    "metadata": {"name": "many"},
                    "subsets": [
                        {
                            "addresses": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}],
                            "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}],
                        },
                        {"addresses": [{"ip": "10.0.0.3"}]},
                    ],
                },
            )
        ]
        + [Step("GET", "/api/v1/namespaces/{ns}/endpoints", headers=TABLE)],
        managed=False,
    ),
    Case(
        "slices",
        [
            Step(
                "POST",
                _in("discovery.k8s.io/v1", "endpointslices"),
                _named(
                    addressType="IPv4",
                    endpoints=[{"addresses": [f"10.0.0.{n}"]} for n in range(1, 6)],
                    ports=[{"name": "x"}, {"name": "b", "port": 1}],
                ),
            ),
            Step(
                "POST",
                _in("discovery.k8s.io/v1", "endpointslices"),
                {"metadata": {"name": "b"}, "addressType": "FQDN", "endpoints": [], "ports": [{}]},
            ),
            Step("GET", _in("discovery.k8s.io/v1", "endpointslices"), headers=TABLE),
        ],
        managed=False,
    ),
    Case(
        "addresses of services",
        [
            Step(
                "POST",
                "/apis/networking.k8s.io/v1/ipaddresses",
                {
                    "metadata": {"name": "10.0.77.1"},
                    "spec": {"parentRef": {"group": "g.io", "resource": "things", "name": "a"}},
                },
            ),
            Step("GET", "/apis/networking.k8s.io/v1/ipaddresses/10.0.77.1", headers=TABLE),
            Step("DELETE", "/apis/networking.k8s.io/v1/ipaddresses/10.0.77.1"),
        ],
        managed=False,
    ),
    Case(
        "policies and what they are given",
        [
            step
            for number, reference in enumerate(
                (
                    {"name": "x", "parameterNotFoundAction": "Deny"},
                    {"name": "x", "namespace": "n", "parameterNotFoundAction": "Deny"},
                    {
                        "selector": {"matchLabels": {"b": "1", "a": "2"}},
                        "parameterNotFoundAction": "Allow",
                    },
                )
            )
            for path in ["/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"]
            for step in (
                Step(
                    "POST",
                    path,
                    {
                        "metadata": {"name": f"{{ns}}-{number}"},
                        "spec": {
                            "policyName": "p",
                            "paramRef": reference,
                            "validationActions": ["Deny"],
                        },
                    },
                ),
                Step("GET", f"{path}/{{ns}}-{number}", headers=TABLE),
                Step("DELETE", f"{path}/{{ns}}-{number}"),
            )
        ],
        managed=False,
    ),
]
