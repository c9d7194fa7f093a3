"""What random requests found later: rows for each class of difference there once was."""

from typing import Any

from tests.upstream.cases.found import BY_KIND, varied
from tests.upstream.exchange import MERGE, Case, Step
from tests.upstream.fuzz_objects import FUZZED
from tests.upstream.variants import DRY, containers, pods

# Characters that quoted text shows in one way and JSON in another.
ODD = ("\u0000", "\u200b", "<&>", "\u2028", '"\\')
CODES: list[Any] = [{}, {"values": []}, {"operator": "In", "values": None}]
BYTES: list[Any] = [[None], [104, 105], [], [""], [{}], [256], [-1], [1.5], [True], {}, 5]
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "o", "uid": "u"}
BALANCED = next(
    sample
    for sample in FUZZED
    if sample.kind == "Service" and sample.body["spec"]["type"] == "LoadBalancer"
)


def owners(*given: Any) -> Any:
    return {"metadata": {"name": "a", "ownerReferences": list(given)}}


def mounted(**fields: Any) -> Any:
    return {"volumeMounts": [{"name": "v", "mountPath": "/v", **fields}]}


CASES = [
    varied(
        "owners named twice",
        BY_KIND["ConfigMap"],
        owners(OWNER, OWNER),
        owners(OWNER, {**OWNER, "controller": True}, OWNER),
        owners({}, {}),
    ),
    varied(
        "holes in blocks that are none",
        BY_KIND["NetworkPolicy"],
        *(
            {"spec": {"egress": [{"to": [{"ipBlock": {"cidr": cidr, "except": holes}}]}]}}
            for cidr, holes in (
                ("1", ["x"]),
                ("10.0.0.1", ["10.0.0.1/32"]),
                ("10.0.0.0/8", ["x", "10.0.0.0/8", "010.1.0.0/16", "::/0"]),
                ("10.0.0.1/8", ["10.0.0.0/9"]),
            )
        ),
        {"spec": {"policyTypes": ["Ingress", "X", "Egress"]}},
    ),
    varied(
        "odd scopes of quotas",
        BY_KIND["ResourceQuota"],
        *({"spec": {"scopeSelector": {"matchExpressions": [{"scopeName": text}]}}} for text in ODD),
        *(
            {
                "spec": {
                    "scopeSelector": {
                        "matchExpressions": [{"scopeName": "BestEffort", "operator": text}]
                    }
                }
            }
            for text in ODD
        ),
        *({"spec": {"hard": {text: "1"}}} for text in ODD),
    ),
    varied(
        "odd types of limits",
        BY_KIND["LimitRange"],
        *({"spec": {"limits": [{"type": text, "min": {text: "1"}}]}} for text in ODD),
    ),
    varied(
        "odd groups of roles",
        BY_KIND["RoleBinding"],
        *({"roleRef": {"apiGroup": text, "kind": text}} for text in ODD),
        *(
            {"subjects": [{"kind": kind, "name": "s", "namespace": "n", "apiGroup": text}]}
            for text in ODD
            for kind in ("User", "ServiceAccount", text)
        ),
    ),
    varied(
        "odd scopes of classes",
        BY_KIND["IngressClass"],
        *({"spec": {"parameters": {"scope": text}}} for text in (*ODD, "")),
        *({"metadata": {"name": text}, "spec": {"controller": text}} for text in ODD),
    ),
    varied(
        "odd traffic",
        BY_KIND["Service"],
        *(
            {"spec": {field: text, "type": "ClusterIP"}}
            for field in ("trafficDistribution", "externalTrafficPolicy", "internalTrafficPolicy")
            for text in (*ODD, "")
        ),
    ),
    containers(
        "odd references",
        *(
            {"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": text}}}]}
            for text in ODD
        ),
        *({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": text}}}]} for text in ODD),
        *({"resources": {"limits": {text: "1"}}} for text in ODD),
        *({"securityContext": {"windowsOptions": {"runAsUserName": text}}} for text in (*ODD, "")),
        *({"imagePullPolicy": text} for text in ODD),
    ),
    containers(
        "mounts that point to nothing",
        mounted(mountPropagation=""),
        mounted(mountPropagation="\u0000"),
        mounted(recursiveReadOnly=""),
        spec={"volumes": [{"name": "v", "emptyDir": {}}]},
    ),
    varied(
        "slices with ports that point to nothing",
        BY_KIND["EndpointSlice"],
        *({"ports": [{"port": 1, "protocol": text}]} for text in ("", None, *ODD)),
    ),
    varied(
        "metrics of containers",
        BY_KIND["HorizontalPodAutoscaler"],
        *(
            {
                "spec": {
                    "metrics": [
                        {
                            "type": "ContainerResource",
                            "containerResource": {
                                "name": name,
                                "container": "c",
                                "target": {"type": kind, "averageValue": "1"},
                            },
                        }
                    ]
                }
            }
            for name, kind in (
                ("null", "AverageValue"),
                ("a/b", "AverageValue"),
                ("cpu", "\u200b"),
                ("\u0000", "AverageValue"),
                ("storage", "AverageValue"),
            )
        ),
    ),
    varied(
        "exit codes that are empty or missing",
        BY_KIND["Job"],
        *(
            {"spec": {"podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": codes}]}}}
            for codes in CODES
        ),
    ),
    varied(
        "bytes one by one",
        BY_KIND["Secret"],
        *({"data": {"a": given}} for given in BYTES),
    ),
    pods(
        "claims for all containers",
        {"resources": {"claims": []}},
        {"resources": {"claims": [{"name": "x"}]}},
        {"containers": [{"name": "c", "image": "i:1", "resources": {"claims": []}}]},
    ),
    varied(
        "capacities of volumes",
        BY_KIND["PersistentVolume"],
        *(
            {"spec": {"capacity": capacity}}
            for capacity in (
                {"x/y": "0.1", "a b": "1n"},
                {"storage": "1n"},
                {"storage": ...},
                {"storage": None},
            )
        ),
    ),
    varied(
        "addresses of slices",
        BY_KIND["EndpointSlice"],
        {"endpoints": [{"addresses": ["192.000.002.001"]}]},
        {"addressType": "IPv6", "endpoints": [{"addresses": ["2001:DB8::1", "::ffff:1.2.3.4"]}]},
        {"addressType": "FQDN", "endpoints": [{"addresses": ["a.example.com"]}]},
        {
            "metadata": {
                "labels": {"endpointslice.kubernetes.io/managed-by": "x"},
            },
            "endpoints": [{"addresses": ["192.000.002.001"]}],
        },
        {
            "metadata": {
                "labels": {
                    "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"
                },
            },
            "endpoints": [{"addresses": ["192.000.002.001"]}],
        },
    ),
    *(
        Case(
            f"addresses of balancers of {sample.kind}",
            [
                Step("POST", sample.path, sample.named()),
                *(
                    Step(
                        "PATCH",
                        f"{sample.item}/status{DRY}",
                        {"status": {"loadBalancer": {"ingress": [{"ip": address}]}}},
                        MERGE,
                    )
                    for address in ("192.000.002.001", "2001:DB8::1", "192.0.2.1", "x", "")
                ),
                Step("DELETE", sample.item),
            ],
            managed=False,
        )
        for sample in (BALANCED, BY_KIND["Ingress"])
    ),
]
