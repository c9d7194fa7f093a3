"""Endpoints and EndpointSlices of Services."""

from typing import Any

from tests.upstream.scenario import Scenario, Step
from tests.upstream.steps import change, count, each, look, make, pause, remove, until
from tests.upstream.workloads.shapes import is_ready, labelled, notes, pod, service, workload

Json = Any


def ready_endpoints(number: int) -> Step:
    """Slices that list so many ready endpoints between them."""

    def holds(obj: Json) -> bool:
        return bool(
            sum(entry["conditions"]["ready"] for entry in obj.get("endpoints") or []) == number
        )

    return count("EndpointSlice", 1, holds)


def with_ports(name: str, **more: Json) -> Json:
    ports = [{"name": "http", "containerPort": 8080}, {"name": "dns", "containerPort": 53}]
    return pod(name, container={"ports": ports}, **more)


NAMED = [
    {"name": "http", "port": 80, "targetPort": "http"},
    {"name": "fixed", "port": 81, "targetPort": 9000, "appProtocol": "kubernetes.io/h2c"},
    {"name": "udp", "port": 53, "protocol": "UDP", "targetPort": 53},
]
SCENARIOS = [
    Scenario(
        "ready and unready",
        [
            make(service(), pod("a"), pod("b", annotations=notes(ready="never"))),
            count("Pod", 1, is_ready),
            ready_endpoints(1),
        ],
    ),
    Scenario("no pods", [make(service())]),
    Scenario(
        "terminating",
        [
            make(
                service(),
                pod("a", annotations=notes(stop="after=8"), terminationGracePeriodSeconds=20),
                pod("b"),
            ),
            ready_endpoints(2),
            remove("Pod", "a"),
            ready_endpoints(1),
            look("ending"),
        ],
        ignore=("Pod.metadata.deletionTimestamp",),
    ),
    Scenario(
        "publish not ready",
        [
            make(
                service(publishNotReadyAddresses=True), pod("a", annotations=notes(ready="never"))
            ),
            ready_endpoints(1),
        ],
    ),
    Scenario(
        "headless",
        [
            make(service(clusterIP="None"), pod("a"), pod("b", hostname="b", subdomain="web")),
            ready_endpoints(2),
        ],
    ),
    Scenario(
        "headless without ports",
        [
            make(service(clusterIP="None", ports=None), pod("a")),
            ready_endpoints(1),
        ],
    ),
    Scenario(
        "named ports",
        [
            make(service(ports=NAMED), with_ports("a"), pod("b")),
            count("Pod", 2, is_ready),
            count("EndpointSlice", 2),
        ],
    ),
    Scenario(
        "selector changes",
        [
            make(service(), pod("a"), pod("b", "other")),
            ready_endpoints(1),
            change("Service", "web", {"spec": {"selector": {"app": "other"}}}),
            look("changed"),
            change("Service", "web", {"spec": {"selector": None}}),
            pause(1),
        ],
    ),
    Scenario(
        "external name",
        [
            make(service(type="ExternalName", externalName="example.com", ports=None), pod("a")),
            count("Pod", 1, is_ready),
        ],
    ),
    Scenario(
        "becomes external name",
        [
            make(service(), pod("a")),
            ready_endpoints(1),
            change(
                "Service",
                "web",
                {
                    "spec": {
                        "type": "ExternalName",
                        "externalName": "example.com",
                        "clusterIP": None,
                        "clusterIPs": None,
                    }
                },
            ),
            pause(1),
        ],
        # Still stored for a name, and hidden only from some readers.
        ignore=("Service.spec.internalTrafficPolicy",),
    ),
    Scenario(
        "labels and annotations",
        [
            make(labelled(service(), tier="front", app="web"), pod("a")),
            ready_endpoints(1),
            change(
                "Service",
                "web",
                {
                    "metadata": {
                        "labels": {"tier": "back"},
                        "annotations": {
                            "note": "x",
                            "endpoints.kubernetes.io/last-change-trigger-time": "x",
                        },
                    }
                },
            ),
            pause(1),
        ],
    ),
    Scenario(
        "ports change",
        [
            make(service(), pod("a")),
            ready_endpoints(1),
            change(
                "Service",
                "web",
                {"spec": {"ports": [{"port": 81, "targetPort": 8081, "name": "new"}]}},
            ),
            pause(1),
        ],
    ),
    Scenario(
        "finished pods are no endpoints",
        [
            make(
                service(),
                pod("a", restartPolicy="Never", annotations=notes(exit="after=0.5,code=0")),
                pod("b"),
            ),
            count("Pod", 1, lambda o: o["status"]["phase"] == "Succeeded"),
            ready_endpoints(1),
        ],
    ),
    Scenario(
        "many endpoints",
        [
            make(service(), workload("ReplicaSet", replicas=120)),
            count("Pod", 120, is_ready),
            count(
                "EndpointSlice",
                2,
                lambda o: (
                    o.get("endpoints") and all(e["conditions"]["ready"] for e in o["endpoints"])
                ),
            ),
        ],
        ignore=("#SuccessfulCreate", "#Scheduled", "EndpointSlice.endpoints", "Pod.status.podIPs"),
    ),
    Scenario(
        "service deleted",
        [
            make(service(), pod("a")),
            ready_endpoints(1),
            remove("Service", "web"),
            count("EndpointSlice", 0),
        ],
    ),
    Scenario(
        "slices and endpoints deleted by hand",
        [
            make(service(), pod("a")),
            ready_endpoints(1),
            # Another controller makes these, in its own time: what is not there cannot be removed.
            until("Endpoints", "web", lambda found: found.get("subsets")),
            each("EndpointSlice", lambda name: remove("EndpointSlice", name)),
            remove("Endpoints", "web"),
            ready_endpoints(1),
            until("Endpoints", "web", lambda found: found.get("subsets")),
        ],
    ),
    Scenario(
        "endpoints by hand are mirrored",
        [
            make(
                service(selector=None),
                {
                    "apiVersion": "v1",
                    "kind": "Endpoints",
                    "metadata": {"name": "web", "labels": {"own": "x"}, "annotations": {"a": "b"}},
                    "subsets": [
                        {
                            "addresses": [{"ip": "192.0.2.1"}],
                            "notReadyAddresses": [{"ip": "192.0.2.2"}],
                            "ports": [{"port": 80}],
                        },
                        {
                            "addresses": [{"ip": "2001:db8::1"}],
                            "ports": [{"name": "b", "port": 81}],
                        },
                    ],
                },
            ),
            count("EndpointSlice", 2),
            look("mirrored"),
            change(
                "Endpoints",
                "web",
                {
                    "subsets": [
                        {
                            "addresses": [{"ip": "192.0.2.9", "hostname": "h"}],
                            "ports": [{"port": 80}],
                        }
                    ]
                },
            ),
            count("EndpointSlice", 1),
        ],
    ),
    Scenario(
        "node port and session affinity",
        [
            make(
                service(
                    type="NodePort",
                    sessionAffinity="ClientIP",
                    ports=[{"port": 80, "nodePort": 30080}],
                ),
                pod("a"),
            ),
            ready_endpoints(1),
        ],
    ),
    Scenario(
        "prefer same node",
        [
            make(service(trafficDistribution="PreferClose"), pod("a")),
            ready_endpoints(1),
        ],
    ),
    Scenario(
        "readiness gates",
        [
            make(service(), pod("a", readinessGates=[{"conditionType": "example.com/gate"}])),
            until("Pod", "a", lambda o: o["status"]["phase"] == "Running"),
            look("closed"),
            change(
                "Pod",
                "a",
                {"status": {"conditions": [{"type": "example.com/gate", "status": "True"}]}},
                sub="status",
                strategic=True,
            ),
            ready_endpoints(1),
        ],
    ),
]
