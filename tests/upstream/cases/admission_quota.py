"""Resource quotas: charges, refusals, scopes, updates; and what a quota itself may say."""

import time
from typing import Any

from tests.upstream.exchange import MERGE, STRATEGIC, Case, Step

_CORE = "/api/v1/namespaces/{ns}"
_QUOTAS = f"{_CORE}/resourcequotas"
_PODS = f"{_CORE}/pods"
_CACHE_SECONDS = 0.2


def _let_caches_fill(_: Any) -> None:
    """Upstream's admission reads from caches that follow the store a little later."""
    time.sleep(_CACHE_SECONDS)


WAIT = Step("GET", f"{_CORE}/podtemplates/none", _let_caches_fill)


def container(name: str = "c", **resources: dict[str, str]) -> dict[str, Any]:
    return {"name": name, "image": "i", **({"resources": resources} if resources else {})}


def pod(name: str, *containers: dict[str, Any], **spec: Any) -> Step:
    listed = list(containers) or [container()]
    return Step("POST", _PODS, {"metadata": {"name": name}, "spec": {"containers": listed, **spec}})


def config_map(name: str) -> Step:
    return Step("POST", f"{_CORE}/configmaps", {"metadata": {"name": name}})


def quota(
    name: str, hard: dict[str, str], used: dict[str, str] | None = None, **spec: Any
) -> list[Step]:
    """A quota with the status a controller would give it."""
    obj: dict[str, Any] = {"metadata": {"name": name}, "spec": {"hard": hard, **spec}}
    status = {"hard": hard, "used": dict.fromkeys(hard, "0") if used is None else used}
    return [
        Step("POST", _QUOTAS, obj),
        Step("PATCH", f"{_QUOTAS}/{name}/status", {"status": status}, MERGE),
    ]


def look(name: str = "q") -> Step:
    return Step("GET", f"{_QUOTAS}/{name}")


def bad(name: str, **spec: Any) -> Case:
    return Case(name, [Step("POST", _QUOTAS, {"metadata": {"name": "q"}, "spec": spec})])


_SMALL = container(requests={"cpu": "400m"}, limits={"cpu": "1", "memory": "256Mi"})
_GPU = {"example.com/gpu": "2"}
_GOLD = "gold.storageclass.storage.k8s.io/"
_PORTS = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]
_FAR = {
    "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "x", "labelSelector": {}, "namespaceSelector": {}}
        ]
    }
}


def claim(name: str, size: str, cls: str) -> Step:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
        "storageClassName": cls,
    }
    return Step(
        "POST", f"{_CORE}/persistentvolumeclaims", {"metadata": {"name": name}, "spec": spec}
    )


def expression(scope: str, operator: str, *values: str) -> dict[str, Any]:
    made: dict[str, Any] = {"scopeName": scope, "operator": operator}
    return {"matchExpressions": [made | ({"values": list(values)} if values else {})]}


CASES = [
    Case(
        "pods are charged until a quota is full",
        [
            *quota("q", {"pods": "2", "requests.cpu": "1", "limits.memory": "1Gi"}),
            WAIT,
            pod("a", _SMALL),
            look(),
            pod("b", _SMALL),
            pod("c", _SMALL),
            look(),
        ],
        managed=False,
    ),
    Case(
        "containers that do not name what is limited",
        [
            *quota("q", {"cpu": "1", "limits.memory": "1Gi"}),
            WAIT,
            pod("a", container("x"), container("y", limits={"cpu": "1"})),
            pod("b", container("x", limits={"memory": "1"}), container("y", limits={"cpu": "1"})),
        ],
        managed=False,
    ),
    Case(
        "init containers, sidecars and overhead of all kinds",
        [
            *quota("q", {"requests.cpu": "10", "requests.ephemeral-storage": "10Gi", "pods": "9"}),
            WAIT,
            pod(
                "a",
                container(requests={"cpu": "100m", "ephemeral-storage": "1G"}),
                initContainers=[
                    {**container("s", requests={"cpu": "1"}), "restartPolicy": "Always"},
                    container("i", requests={"cpu": "1500m"}),
                ],
            ),
            look(),
            pod("b", container(), resources={"requests": {"cpu": "2"}}),
            look(),
        ],
        managed=False,
    ),
    Case(
        "a generated name is shown",
        [
            *quota("q", {"pods": "0"}),
            WAIT,
            Step(
                "POST",
                _PODS,
                {"metadata": {"generateName": "generated-"}, "spec": {"containers": [container()]}},
            ),
        ],
        managed=False,
    ),
    Case(
        "a quota whose usage nobody has counted yet",
        [
            *quota("q", {"pods": "1", "cpu": "1"}, {"pods": "0"}),
            WAIT,
            pod("a", container(requests={"cpu": "1"})),
        ],
        managed=False,
    ),
    Case(
        "a dry run takes nothing",
        [
            *quota("q", {"configmaps": "1"}),
            WAIT,
            Step("POST", f"{_CORE}/configmaps?dryRun=All", {"metadata": {"name": "a"}}),
            look(),
            config_map("a"),
            Step("POST", f"{_CORE}/configmaps?dryRun=All", {"metadata": {"name": "b"}}),
        ],
        managed=False,
    ),
    Case(
        "services by type and when it changes",
        [
            *quota(
                "q",
                {
                    "services": "3",
                    "services.nodeports": "3",
                    "services.loadbalancers": "0",
                    "count/services": "3",
                },
            ),
            WAIT,
            Step(
                "POST",
                f"{_CORE}/services",
                {"metadata": {"name": "s"}, "spec": {"ports": _PORTS, "selector": {"a": "b"}}},
            ),
            look(),
            Step("PATCH", f"{_CORE}/services/s", {"spec": {"type": "NodePort"}}, MERGE),
            look(),
            Step("PATCH", f"{_CORE}/services/s", {"spec": {"type": "LoadBalancer"}}, MERGE),
        ],
        managed=False,
    ),
    Case(
        "object counts, by both names",
        [
            *quota(
                "q", {"count/leases.coordination.k8s.io": "0", "count/secrets": "1", "secrets": "5"}
            ),
            WAIT,
            Step(
                "POST",
                "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases",
                {"metadata": {"name": "a"}},
            ),
            Step("POST", f"{_CORE}/secrets", {"metadata": {"name": "a"}}),
            Step("POST", f"{_CORE}/secrets", {"metadata": {"name": "b"}}),
            look(),
        ],
        managed=False,
    ),
    Case(
        "claims in all and by class",
        [
            *quota(
                "q",
                {
                    "requests.storage": "10Gi",
                    "persistentvolumeclaims": "5",
                    f"{_GOLD}requests.storage": "3Gi",
                    f"{_GOLD}persistentvolumeclaims": "2",
                },
            ),
            WAIT,
            claim("a", "2Gi", "gold"),
            claim("b", "2Gi", "silver"),
            claim("c", "2Gi", "gold"),
            look(),
        ],
        managed=False,
    ),
    *(
        Case(
            f"scope {scope}",
            [
                *quota("q", {"pods": "0"}, scopes=[scope]),
                WAIT,
                pod("a"),
                pod("b", container(requests={"cpu": "1"})),
                pod("c", activeDeadlineSeconds=5),
                pod("d", affinity=_FAR),
                pod("e", priorityClassName="system-node-critical"),
            ],
            managed=False,
        )
        for scope in (
            "BestEffort",
            "NotBestEffort",
            "Terminating",
            "NotTerminating",
            "CrossNamespacePodAffinity",
            "PriorityClass",
        )
    ),
    *(
        Case(
            f"scope selector {operator}",
            [
                *quota(
                    "q",
                    {"pods": "0"},
                    scopeSelector=expression("PriorityClass", operator, *values),
                ),
                WAIT,
                pod("a"),
                pod("b", priorityClassName="system-node-critical"),
                pod("c", priorityClassName="system-cluster-critical"),
            ],
            managed=False,
        )
        for operator, values in (
            ("In", ["system-node-critical"]),
            ("NotIn", ["system-node-critical"]),
            ("Exists", []),
            ("DoesNotExist", []),
        )
    ),
    Case(
        "extended resources and huge pages",
        [
            *quota("q", {"requests.example.com/gpu": "2", "hugepages-2Mi": "4Mi"}),
            WAIT,
            pod("a", container(requests=_GPU, limits=_GPU)),
            pod("b", container(requests=_GPU, limits=_GPU)),
            pod("c", container(limits={"hugepages-2Mi": "8Mi", "cpu": "1"})),
            look(),
        ],
        managed=False,
    ),
    Case(
        "a resize is charged by what it adds",
        [
            *quota("q", {"requests.cpu": "1"}),
            WAIT,
            pod("a", container(requests={"cpu": "500m"})),
            *(
                Step(
                    "PATCH",
                    f"{_PODS}/a/resize",
                    {
                        "spec": {
                            "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
                        }
                    },
                    STRATEGIC,
                )
                for cpu in ("700m", "1500m")
            ),
            look(),
        ],
        managed=False,
    ),
    Case(
        "a deadline moves a pod into another scope",
        [
            *quota("q", {"pods": "0"}, scopes=["Terminating"]),
            WAIT,
            pod("a"),
            Step("PATCH", f"{_PODS}/a", {"spec": {"activeDeadlineSeconds": 9}}, MERGE),
        ],
        managed=False,
    ),
    bad("hard that is none", hard={"foo": "1"}),
    bad("hard below zero", hard={"cpu": "-1"}),
    bad("hard that is no integer", hard={"pods": "1500m"}),
    bad("hard with a bad name", hard={"a//b": "1"}),
    bad("hard of an extended resource", hard={"requests.example.com/gpu": "1.5"}),
    bad("scope unknown", hard={"pods": "1"}, scopes=["Odd"]),
    bad("scopes that contradict", hard={"pods": "1"}, scopes=["BestEffort", "NotBestEffort"]),
    bad(
        "scopes of ends that contradict",
        hard={"pods": "1"},
        scopes=["Terminating", "NotTerminating"],
    ),
    bad("scope for services", hard={"services": "1"}, scopes=["BestEffort"]),
    bad("scope for compute", hard={"cpu": "1"}, scopes=["BestEffort"]),
    bad("scope of attributes", hard={"pods": "1"}, scopes=["VolumeAttributesClass"]),
    bad(
        "selector of a scope unknown", hard={"pods": "1"}, scopeSelector=expression("Odd", "Exists")
    ),
    bad(
        "selector without values",
        hard={"pods": "1"},
        scopeSelector=expression("PriorityClass", "In"),
    ),
    bad(
        "selector with values",
        hard={"pods": "1"},
        scopeSelector=expression("PriorityClass", "Exists", "a"),
    ),
    bad(
        "selector with an operator unknown",
        hard={"pods": "1"},
        scopeSelector=expression("PriorityClass", "Odd"),
    ),
    bad(
        "selector whose scope only exists",
        hard={"pods": "1"},
        scopeSelector=expression("BestEffort", "In", "a"),
    ),
    Case(
        "scopes stay as they are",
        [
            *quota("q", {"pods": "1"}, scopes=["BestEffort"]),
            Step("PATCH", f"{_QUOTAS}/q", {"spec": {"scopes": ["Terminating"]}}, MERGE),
            Step("PATCH", f"{_QUOTAS}/q", {"spec": {"hard": {"pods": "2"}}}, MERGE),
        ],
        managed=False,
    ),
    Case(
        "a status that is none",
        [
            *quota("q", {"pods": "1"}),
            Step("PATCH", f"{_QUOTAS}/q/status", {"status": {"used": {"foo": "1"}}}, MERGE),
            Step("PATCH", f"{_QUOTAS}/q/status", {"status": {"used": {"pods": "-1"}}}, MERGE),
        ],
        managed=False,
    ),
]
