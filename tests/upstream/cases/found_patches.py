"""What random changes found: rows for each class of difference there once was."""

from typing import Any

from tests.upstream.cases.found import BY_KIND, all_applied, changes, spec
from tests.upstream.cases.found_again import BALANCED, BYTES, ODD, OWNER, owners
from tests.upstream.exchange import APPLY, JSON_PATCH, MERGE, STRATEGIC, Case, Step
from tests.upstream.objects import Sample
from tests.upstream.variants import DRY, merged


def sent(name: str, sample: Sample, *steps: tuple[str, Any]) -> Case:
    """Replacements and patches of one object that is there."""
    made = [Step("POST", sample.path, sample.named())]
    for media, row in steps:
        if media == "PUT":
            body = merged(sample.named(), row)
            made.append(Step("PUT", f"{sample.item}{DRY}", body))
        else:
            made.append(Step("PATCH", f"{sample.item}{DRY}", row, media))
    return Case(name, [*made, Step("DELETE", sample.item)], managed=False)


CASES = [
    sent(
        "owners named twice in changes",
        BY_KIND["ConfigMap"],
        ("PUT", owners(OWNER, OWNER, {**OWNER, "uid": "v"})),
        (MERGE, owners(OWNER, OWNER)),
        (STRATEGIC, owners(OWNER, OWNER)),
        (JSON_PATCH, [{"op": "add", "path": "/metadata/ownerReferences", "value": [OWNER] * 3}]),
    ),
    sent(
        "odd things that stay",
        BY_KIND["PriorityClass"],
        *((MERGE, {"preemptionPolicy": text}) for text in ODD),
    ),
    sent(
        "odd handlers that stay",
        BY_KIND["RuntimeClass"],
        *((MERGE, {"handler": text}) for text in ODD),
    ),
    sent(
        "odd types that stay",
        BY_KIND["Secret"],
        *((MERGE, {"type": text}) for text in (*ODD, None)),
    ),
    sent(
        "odd modes that stay",
        BY_KIND["StorageClass"],
        *((MERGE, {"volumeBindingMode": text}) for text in (*ODD, "", None)),
        *((MERGE, {"reclaimPolicy": text}) for text in (*ODD, "", None)),
    ),
    sent(
        "topologies of slices",
        BY_KIND["EndpointSlice"],
        (
            JSON_PATCH,
            [{"op": "add", "path": "/endpoints/0/deprecatedTopology", "value": {"a": "b"}}],
        ),
        (MERGE, {"metadata": {"annotations": {"x": "y"}}}),
        (MERGE, {"metadata": {"labels": {"x": "y"}}}),
    ),
    sent(
        "bytes one by one in changes",
        BY_KIND["Secret"],
        *((STRATEGIC, {"data": {"x": given}}) for given in BYTES if given not in ([256], [-1])),
    ),
    sent(
        "claims that are filled from elsewhere",
        BY_KIND["StatefulSet"],
        *(
            (
                MERGE,
                {
                    "spec": {
                        "volumeClaimTemplates": [
                            {
                                "metadata": {"name": "d"},
                                "spec": {
                                    "accessModes": ["ReadWriteOnce"],
                                    "storageClassName": "c",
                                    "resources": {"requests": {"storage": "1Gi"}},
                                    "dataSource": source,
                                },
                            }
                        ]
                    }
                },
            )
            for source in ({"name": "x"}, {"kind": "PersistentVolumeClaim", "name": "x"})
        ),
    ),
    sent(
        "balancers without ports of nodes",
        BALANCED,
        (
            MERGE,
            {"spec": {"allocateLoadBalancerNodePorts": False, "ports": [{"port": 80}]}},
        ),
        (STRATEGIC, {"spec": {"allocateLoadBalancerNodePorts": False}}),
        (MERGE, {"spec": {"type": "NodePort", "ports": [{"port": 80}]}}),
    ),
    sent(
        "templates that come and go",
        BY_KIND["ReplicationController"],
        (STRATEGIC, {"spec": {"template": {"spec": {"imagePullSecrets": [{}]}}}}),
        (STRATEGIC, {"spec": {"template": {"spec": {"resources": {"claims": []}}}}}),
        (
            STRATEGIC,
            {"spec": {"template": {"spec": {"containers": [{"name": "c", "resources": {}}]}}}},
        ),
        (
            MERGE,
            {"spec": {"template": {"spec": {"ephemeralContainers": [{"ports": [{}]}, {}]}}}},
        ),
    ),
    sent(
        "nulls inside of lists",
        BY_KIND["LimitRange"],
        *(
            (media, {"spec": {"limits": [{"type": "Pod", "max": {"cpu": None, "memory": "1"}}]}})
            for media in (MERGE, STRATEGIC)
        ),
        *((media, {"spec": {"limits": [{"x": None}]}}) for media in (MERGE, STRATEGIC)),
        *((media, {"spec": {"limits": [None]}}) for media in (MERGE, STRATEGIC)),
    ),
    sent(
        "nulls inside of what replaces",
        BY_KIND["PodDisruptionBudget"],
        (STRATEGIC, {"spec": {"selector": {"matchLabels": {"app": None}}}}),
        (MERGE, {"spec": {"selector": {"matchLabels": {"app": None}}}}),
    ),
    changes(
        "ServiceAccount",
        ({"secrets": [[{}]]}, STRATEGIC),
        ({"secrets": [5]}, STRATEGIC),
        ({"secrets": [{"name": "s", "$patch": "merge"}]}, STRATEGIC),
        ({"secrets": [{"name": "s", "$patch": "x"}]}, STRATEGIC),
        ({"secrets": [{"$patch": "delete"}]}, STRATEGIC),
        ({"secrets": [{"$patch": "replace"}, {"name": "z"}]}, STRATEGIC),
        ({"secrets": [{"namespace": "z"}]}, STRATEGIC),
        ({"secrets": [{"name": "z", "namespace": None, "fieldPath": "f"}]}, STRATEGIC),
        ({"metadata": {"$patch": "merge"}}, STRATEGIC),
        ({"metadata": {"annotations": {"$patch": "replace", "z": None}}}, STRATEGIC),
        ({"metadata": {"annotations": {"$retainKeys": 5}}}, STRATEGIC),
        ({"metadata": {"annotations": {"$retainKeys": ["a"], "b": "c"}}}, STRATEGIC),
        ({"metadata": {"finalizers": ["a/b", "a/b"]}}, STRATEGIC),
        ({"metadata": {"finalizers": ["a/b", 5]}}, STRATEGIC),
        ({"$setElementOrder/secrets": 5}, STRATEGIC),
        ({"secrets": [{"name": "s", "x": 2**63}, {"y": 2**63}]}, STRATEGIC),
    ),
    sent(
        "which of two faults",
        BY_KIND["Deployment"],
        (STRATEGIC, {"metadata": {"annotations": {"note": {}}, "generation": ""}}),
        (STRATEGIC, {"metadata": {"labels": 0, "generation": "a"}}),
        (
            STRATEGIC,
            {
                "spec": {
                    "template": {
                        "spec": {
                            "securityContext": {"fsGroup": "a"},
                            "containers": [{"name": "c", "livenessProbe": []}],
                        }
                    },
                    "replicas": "x",
                }
            },
        ),
        (STRATEGIC, {"spec": {"progressDeadlineSeconds": "x", "minReadySeconds": 1.5}}),
    ),
    Case(
        "keys that are applied",
        [
            Step("POST", BY_KIND["Deployment"].path, BY_KIND["Deployment"].named()),
            *all_applied(
                BY_KIND["Deployment"],
                spec(volumes=[{"name": {}}]),
                spec(volumes=[{"name": {"a": "b"}}]),
                spec(volumes=[{"name": [1, "\u0000"]}]),
                spec(volumes=[{"name": 1.5}]),
                spec(containers=[{"name": "c", "env": [{"name": "\u200b"}, {"name": "\u200b"}]}]),
                {"metadata": {"name": "a", "finalizers": [None]}},
                {"metadata": {"name": "-1"}, "spec": {"replicas": 1.5}},
                {"metadata": {"name": ""}, "spec": {"replicas": 1.5}},
                {"metadata": {"name": "-1"}, "spec": {"replicas": -1}},
            ),
            Step(
                "PATCH",
                f"{BY_KIND['Deployment'].path}/new{DRY}&fieldManager=m",
                {
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "metadata": {"name": "old"},
                    "spec": {"replicas": 1.5},
                },
                APPLY,
            ),
        ],
        managed=False,
    ),
    sent(
        "lists that are empty or missing",
        BY_KIND["Ingress"],
        (MERGE, {"spec": {"rules": []}}),
        (MERGE, {"spec": {"rules": None}}),
        (MERGE, {"spec": {"rules": [], "defaultBackend": {"service": {"name": "s"}}}}),
        (
            MERGE,
            {
                "spec": {
                    "rules": [],
                    "defaultBackend": {"service": {"name": "s", "port": {"number": 80}}},
                }
            },
        ),
    ),
]
