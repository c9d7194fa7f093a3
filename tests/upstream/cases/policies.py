"""Budgets, network policies, ingresses, roles, classes, leases and slices."""

from collections.abc import Iterable
from typing import Any

from tests.upstream.cases.workloads import case, changes, specs
from tests.upstream.exchange import Step
from tests.upstream.objects import SAMPLE, Sample
from tests.upstream.variants import DRY, merged

BACKEND = {"service": {"name": "s", "port": {"number": 80}}}


def bodies(sample: Sample, rows: Iterable[Any]) -> list[Step]:
    return [Step("POST", sample.path + DRY, merged(sample.named(), row)) for row in rows]


def http(**path: Any) -> dict[str, Any]:
    made = merged({"path": "/", "pathType": "Prefix", "backend": BACKEND}, path)
    return {"defaultBackend": ..., "rules": [{"host": "a.example.com", "http": {"paths": [made]}}]}


CASES = [
    case(
        "budgets",
        specs(
            SAMPLE["PodDisruptionBudget"],
            [
                {"minAvailable": ...},
                {"minAvailable": -1},
                {"minAvailable": "50%"},
                {"minAvailable": "101%"},
                {"minAvailable": "x"},
                {"maxUnavailable": 1},
                {"minAvailable": ..., "maxUnavailable": "-1"},
                {"selector": ...},
                {"selector": {}},
                {"selector": {"matchLabels": {"-": "x"}}},
                {"unhealthyPodEvictionPolicy": "AlwaysAllow"},
                {"unhealthyPodEvictionPolicy": "Other"},
            ],
        ),
    ),
    case(
        "what of a budget may change",
        changes(
            SAMPLE["PodDisruptionBudget"],
            [
                {"spec": {"minAvailable": 2}},
                {"spec": {"minAvailable": None, "maxUnavailable": 2}},
                {"spec": {"selector": {"matchLabels": {"app": "other"}}}},
            ],
        ),
    ),
    case(
        "network policies",
        specs(
            SAMPLE["NetworkPolicy"],
            [
                {"podSelector": ...},
                {"podSelector": {"matchLabels": {"-": "x"}}},
                {"policyTypes": ["Other"]},
                {"policyTypes": ["Ingress", "Egress", "Ingress"]},
                {"policyTypes": ["Egress"]},
                {"ingress": [{}]},
                {"ingress": [{"ports": [{"port": 80}]}]},
                {"ingress": [{"ports": [{"port": 0}]}]},
                {"ingress": [{"ports": [{"port": "name"}]}]},
                {"ingress": [{"ports": [{"port": "Na_me"}]}]},
                {"ingress": [{"ports": [{"protocol": "Other", "port": 80}]}]},
                {"ingress": [{"ports": [{"port": 80, "endPort": 90}]}]},
                {"ingress": [{"ports": [{"port": 80, "endPort": 70}]}]},
                {"ingress": [{"ports": [{"endPort": 70}]}]},
                {"ingress": [{"ports": [{"port": "name", "endPort": 70}]}]},
                {"ingress": [{"from": [{}]}]},
                {"ingress": [{"from": [{"podSelector": {}}]}]},
                {"ingress": [{"from": [{"podSelector": {}, "ipBlock": {"cidr": "10.0.0.0/8"}}]}]},
                {"ingress": [{"from": [{"ipBlock": {"cidr": "x"}}]}]},
                {"ingress": [{"from": [{"ipBlock": {"cidr": ""}}]}]},
                {
                    "ingress": [
                        {"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}]}
                    ]
                },
                {
                    "ingress": [
                        {"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/16"]}}]}
                    ]
                },
                {"ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["x"]}}]}]},
                {"egress": [{"to": [{"namespaceSelector": {"matchLabels": {"a": "b c"}}}]}]},
                {"egress": [{"ports": [{"port": 70000}]}]},
            ],
        ),
    ),
    case(
        "ingresses",
        specs(
            SAMPLE["Ingress"],
            [
                {"defaultBackend": ...},
                {"defaultBackend": {"service": ...}},
                {"defaultBackend": {"service": {"name": ""}}},
                {"defaultBackend": {"service": {"name": "A_b"}}},
                {"defaultBackend": {"service": {"port": {"number": 80, "name": "x"}}}},
                {"defaultBackend": {"service": {"port": ...}}},
                {"defaultBackend": {"service": {"port": {"number": 70000}}}},
                {"defaultBackend": {"resource": {"kind": "K", "name": "n"}}},
                {"defaultBackend": {"service": ..., "resource": {"kind": "", "name": ""}}},
                http(),
                http(path="x"),
                http(path=""),
                http(path="/a//b"),
                http(path="/a/./b"),
                http(path="/a%2f"),
                http(pathType=...),
                http(pathType="Other"),
                http(pathType="Exact"),
                http(pathType="ImplementationSpecific", path="x"),
                http(backend={"service": ...}),
                {"rules": [{"host": "A.example.com"}]},
                {"rules": [{"host": "*.example.com"}]},
                {"rules": [{"host": "*"}]},
                {"rules": [{"host": "10.0.0.1"}]},
                {"rules": [{"http": {"paths": []}}]},
                {"tls": [{"hosts": ["a.example.com"], "secretName": "s"}]},
                {"tls": [{"hosts": ["A_b"], "secretName": "A_b"}]},
                {"tls": [{"hosts": ["*.example.com"]}]},
                {"ingressClassName": "c"},
                {"ingressClassName": "A_b"},
            ],
        ),
    ),
    case(
        "classes of ingresses",
        specs(
            SAMPLE["IngressClass"],
            [
                {"controller": "x"},
                {"controller": "A_b/c"},
                {"controller": "a.b/c d"},
                {"controller": "a.b/" + "c" * 250},
                {"parameters": {"kind": "K", "name": "n"}},
                {"parameters": {"kind": "", "name": ""}},
                {"parameters": {"kind": "K", "name": "n", "scope": "Other"}},
                {"parameters": {"kind": "K", "name": "n", "scope": "Namespace"}},
                {"parameters": {"kind": "K", "name": "n", "scope": "Cluster", "namespace": "x"}},
                {"parameters": {"apiGroup": "A_b", "kind": "K", "name": "n"}},
            ],
        )
        + changes(SAMPLE["IngressClass"], [{"spec": {"controller": "other.example.com/c"}}]),
    ),
    case(
        "roles",
        bodies(
            SAMPLE["Role"],
            [
                {"rules": [{}]},
                {"rules": [{"verbs": ["get"]}]},
                {"rules": [{"verbs": ["get"], "apiGroups": [""]}]},
                {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]},
                {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["pods"]}]},
                {"rules": []},
                {"rules": ...},
            ],
        )
        + bodies(
            SAMPLE["ClusterRole"],
            [
                {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]},
                {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["pods"]}]},
                {"aggregationRule": {}},
                {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"-": "x"}}]}},
                {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "x"}}]}},
            ],
        ),
    ),
    case(
        "bindings of roles",
        bodies(
            SAMPLE["RoleBinding"],
            [
                {"roleRef": ...},
                {"roleRef": {"kind": "Other"}},
                {"roleRef": {"apiGroup": "other"}},
                {"roleRef": {"name": ""}},
                {"roleRef": {"name": "a/b"}},
                {"subjects": ...},
                {"subjects": [{}]},
                {"subjects": [{"kind": "Other", "name": "x"}]},
                {"subjects": [{"kind": "ServiceAccount", "name": "A_b"}]},
                {"subjects": [{"kind": "ServiceAccount", "name": "a", "apiGroup": "x"}]},
                {"subjects": [{"kind": "User", "name": "", "apiGroup": "x"}]},
                {"subjects": [{"kind": "Group", "name": "g", "namespace": "x"}]},
            ],
        )
        + bodies(
            SAMPLE["ClusterRoleBinding"],
            [
                {"roleRef": {"kind": "Role"}},
                {"subjects": [{"kind": "ServiceAccount", "name": "a"}]},
            ],
        )
        + changes(SAMPLE["RoleBinding"], [{"roleRef": {"name": "other"}}, {"subjects": []}]),
    ),
    case(
        "classes of storage",
        bodies(
            SAMPLE["StorageClass"],
            [
                {"provisioner": ""},
                {"provisioner": "A b"},
                {"reclaimPolicy": "Recycle"},
                {"reclaimPolicy": "Other"},
                {"volumeBindingMode": "Other"},
                {"volumeBindingMode": "WaitForFirstConsumer"},
                {"parameters": {"": "x"}},
                {"parameters": {"a": "x"}},
                {"mountOptions": ["ro"], "allowVolumeExpansion": True},
                {"allowedTopologies": [{"matchLabelExpressions": [{"key": "k", "values": ["v"]}]}]},
                {"allowedTopologies": [{"matchLabelExpressions": [{"key": "", "values": []}]}]},
            ],
        )
        + changes(
            SAMPLE["StorageClass"],
            [
                {"provisioner": "x"},
                {"parameters": {"a": "b"}},
                {"reclaimPolicy": "Retain"},
                {"volumeBindingMode": "WaitForFirstConsumer"},
                {"allowVolumeExpansion": True},
            ],
        ),
    ),
    case(
        "leases",
        specs(
            SAMPLE["Lease"],
            [
                {"leaseDurationSeconds": 0},
                {"leaseDurationSeconds": -1},
                {"leaseTransitions": -1},
                {"holderIdentity": ""},
                {"renewTime": "2020-01-01T00:00:00.000000Z"},
                {"renewTime": "x"},
                {"strategy": "OldestEmulationVersion"},
                {"preferredHolder": "x"},
            ],
        ),
    ),
]
