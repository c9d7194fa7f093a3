"""Odd texts in messages: optional fields are shown as JSON shows them, others as Go quotes them."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.upstream.exchange import MERGE, Case, Step
from tests.upstream.variants import DRY, PODS, pod, posts

TEXTS = ("\u200b", "\u0000", "a<b>&", "\u2028", "ü", "\x7f", 'a"\\', "\U0001f600", "e\u0301", "")
CONTAINER = {"name": "c", "image": "i:1"}
TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}


def spec(**fields: Any) -> Any:
    return pod(fields)


def named(kind: str, **fields: Any) -> Any:
    return {"kind": kind, "metadata": {"name": "a"}, **fields}


def failing(text: str) -> Any:
    codes = {"operator": "In", "values": [1], "containerName": text}
    rules = [{"action": "Ignore", "onExitCodes": codes}]
    return {"template": TEMPLATE, "podFailurePolicy": {"rules": rules}}


def sliced(**fields: Any) -> Any:
    endpoint = {"addresses": ["192.0.2.1"], **fields}
    return named("EndpointSlice", addressType="IPv4", endpoints=[endpoint])


def claimed(**fields: Any) -> Any:
    resources = {"requests": {"storage": "1Gi"}}
    return named(
        "PersistentVolumeClaim",
        spec={"accessModes": ["ReadWriteOnce"], "resources": resources, **fields},
    )


PLACES: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "the zone of a CronJob": (
        "/apis/batch/v1/namespaces/{ns}/cronjobs",
        lambda text: named(
            "CronJob",
            spec={
                "schedule": "@hourly",
                "timeZone": text,
                "jobTemplate": {"spec": {"template": TEMPLATE}},
            },
        ),
    ),
    "the container of a rule of a Job": (
        "/apis/batch/v1/namespaces/{ns}/jobs",
        lambda text: named("Job", spec=failing(text)),
    ),
    "an AppArmor profile that is not wanted": (
        PODS,
        lambda text: spec(
            securityContext={
                "appArmorProfile": {"type": "RuntimeDefault", "localhostProfile": text}
            }
        ),
    ),
    "an AppArmor profile": (
        PODS,
        lambda text: spec(
            securityContext={"appArmorProfile": {"type": "Localhost", "localhostProfile": text}}
        ),
    ),
    "a seccomp profile that is not wanted": (
        PODS,
        lambda text: spec(
            securityContext={"seccompProfile": {"type": "Unconfined", "localhostProfile": text}}
        ),
    ),
    "a credential spec's name": (
        PODS,
        lambda text: spec(securityContext={"windowsOptions": {"gmsaCredentialSpecName": text}}),
    ),
    "a user's name": (
        PODS,
        lambda text: spec(securityContext={"windowsOptions": {"runAsUserName": text}}),
    ),
    "a runtime class": (PODS, lambda text: spec(runtimeClassName=text)),
    "a claim of a pod": (
        PODS,
        lambda text: spec(resourceClaims=[{"name": "c", "resourceClaimName": text}]),
    ),
    "a hostname": (PODS, lambda text: spec(hostname=text)),
    "a storage class": (
        "/api/v1/namespaces/{ns}/persistentvolumeclaims",
        lambda text: claimed(storageClassName=text),
    ),
    "an attributes class": (
        "/api/v1/namespaces/{ns}/persistentvolumeclaims",
        lambda text: claimed(volumeAttributesClassName=text),
    ),
    "an endpoint's host": (
        "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices",
        lambda text: sliced(hostname=text),
    ),
    "an endpoint's node": (
        "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices",
        lambda text: sliced(nodeName=text),
    ),
    "an ingress class": (
        "/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses",
        lambda text: named(
            "Ingress",
            spec={
                "ingressClassName": text,
                "defaultBackend": {"service": {"name": "s", "port": {"number": 80}}},
            },
        ),
    ),
    "a protocol of an application": (
        "/api/v1/namespaces/{ns}/services",
        lambda text: named("Service", spec={"ports": [{"port": 80, "appProtocol": text}]}),
    ),
    "a balancer's class": (
        "/api/v1/namespaces/{ns}/services",
        lambda text: named(
            "Service",
            spec={"type": "LoadBalancer", "loadBalancerClass": text, "ports": [{"port": 80}]},
        ),
    ),
}
USED = {**CONTAINER, "resources": {"claims": [{"name": "x"}]}}
CLAIMS: tuple[Any, ...] = (
    [],
    [{}],
    [{}, {"name": "1Gi"}],
    [{"name": ""}, {"name": "b"}, {"name": "a"}],
)


def preferring(**expression: Any) -> Any:
    preference = {"matchExpressions": [expression]}
    preferred = [{"weight": 1, "preference": preference}]
    return spec(
        affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    )


def owned(**metadata: Any) -> Any:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    template = {"metadata": metadata, "spec": claim}
    return spec(volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}])


VALUES: tuple[list[str], ...] = ([], ["%s"], ["%s", "50%"], ["a"], ["1"], ["-1", "x"])
METADATA: tuple[dict[str, Any], ...] = (
    {"ownerReferences": None}, {"ownerReferences": [{}]},
    {"finalizers": ["a/b"]}, {"name": ""},
    {"name": "a"}, {"generateName": "a"}, {"namespace": "a"}, {"generation": 0}, {"uid": ""},
    {"labels": {}, "annotations": {}}, {"deletionGracePeriodSeconds": 0}, {"selfLink": ""},
    {"creationTimestamp": None}, {"resourceVersion": "1"},
)  # fmt: skip

CASES = [
    posts(
        "preferred expressions",
        PODS,
        [
            preferring(key=key, operator=operator, values=values)
            for key in ("%s", "a")
            for operator in ("In", "Exists", "Gt", "ClusterRole", "")
            for values in VALUES
        ],
    ),
    posts("metadata of a claim's template", PODS, [owned(**fields) for fields in METADATA]),
    *(posts(name, path, [make(text) for text in TEXTS]) for name, (path, make) in PLACES.items()),
    posts(
        "claims without names",
        PODS,
        [spec(resourceClaims=claims, containers=[USED]) for claims in CLAIMS],
    ),
    Case(
        "the claim that was made for a pod",
        [
            Step("POST", PODS, spec(resourceClaims=[{"name": "c", "resourceClaimName": "x"}])),
            *(
                Step(
                    "PATCH",
                    f"{PODS}/p/status{DRY}",
                    {
                        "status": {
                            "resourceClaimStatuses": [{"name": "c", "resourceClaimName": text}]
                        }
                    },
                    MERGE,
                )
                for text in TEXTS
            ),
        ],
        managed=False,
    ),
]
