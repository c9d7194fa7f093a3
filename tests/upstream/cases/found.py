"""What random requests found: one row for each class of difference there once was."""

from typing import Any

from tests.upstream.exchange import APPLY, JSON_PATCH, MERGE, STRATEGIC, Case, Step
from tests.upstream.fuzz_objects import FUZZED
from tests.upstream.objects import SAMPLE, Sample
from tests.upstream.variants import DRY, merged, posts

BY_KIND = {sample.kind: sample for sample in FUZZED}
SETS = BY_KIND["Deployment"]
JOBS = SAMPLE["Job"]
OWNED = f"{DRY}&fieldManager=m&force=true"
FINALIZERS = (["a"], ["A_", "a"], ["a/b", "-1"], ["{}", "orphan"], ["x" * 254], ["\u200b"])


def applied(sample: Sample, body: Any) -> Step:
    group = sample.path.split("/")[2:4]
    version = "v1" if sample.path.startswith("/api/") else "/".join(group)
    whole = {"apiVersion": version, "kind": sample.kind, **body}
    return Step("PATCH", f"{sample.item}{OWNED}", whole, APPLY)


def varied(name: str, sample: Sample, *rows: Any) -> Case:
    return posts(name, sample.path, [merged(sample.named(), row) for row in rows])


def all_applied(sample: Sample, *bodies: Any) -> list[Step]:
    return [applied(sample, body) for body in bodies]


def spec(**fields: Any) -> Any:
    return {"metadata": {"name": "a"}, "spec": {"template": {"spec": fields}}}


def changes(kind: str, *patches: tuple[Any, str]) -> Case:
    sample = BY_KIND[kind]
    steps = [Step("PATCH", f"{sample.item}{DRY}", patch, media) for patch, media in patches]
    return Case(
        f"changes of {kind}",
        [Step("POST", sample.path, sample.named()), *steps, Step("DELETE", sample.item)],
        managed=False,
    )


CASES = [
    *(
        Case(
            f"finalizers of {kind}",
            [
                *(
                    Step(
                        "POST",
                        f"{BY_KIND[kind].path}{DRY}",
                        BY_KIND[kind].named(finalizers=finalizers),
                    )
                    for finalizers in FINALIZERS
                ),
                Step("POST", BY_KIND[kind].path, BY_KIND[kind].named()),
                *(
                    Step(
                        "PATCH",
                        f"{BY_KIND[kind].item}{DRY}",
                        {"metadata": {"finalizers": finalizers}},
                        MERGE,
                    )
                    for finalizers in FINALIZERS
                ),
                Step("DELETE", f"{BY_KIND[kind].item}?gracePeriodSeconds=0"),
            ],
            managed=False,
        )
        for kind in (
            "ConfigMap",
            "Deployment",
            "Job",
            "Node",
            "PersistentVolumeClaim",
            "StorageClass",
            "Role",
            "ClusterRoleBinding",
            "PodDisruptionBudget",
            "RuntimeClass",
            "Lease",
            "NetworkPolicy",
            "IngressClass",
            "EndpointSlice",
            "PriorityClass",
            "LimitRange",
        )
    ),
    posts(
        "texts that cannot be printed",
        BY_KIND["ConfigMap"].path,
        [
            merged(BY_KIND["ConfigMap"].named(), {"metadata": row})
            for row in (
                {"name": "\u200b"},
                {"name": "\u0000"},
                {"name": "a\tb"},
                {"name": 'a"b\\'},
                {"labels": {"a": "\u0000"}},
                {"labels": {"a": "\u200b"}},
                {"labels": {"\u2028": "\U0001f600"}},
            )
        ],
    ),
    varied(
        "types with names",
        BY_KIND["Service"],
        {"spec": {"type": 5}},
        {"spec": {"sessionAffinity": []}},
        {"spec": {"ipFamilies": [5]}},
        {"spec": {"ipFamilies": "a"}},
        {"spec": {"ports": [{"protocol": {}}]}},
        {"metadata": {"uid": 5}},
    ),
    varied(
        "times that are none",
        SAMPLE["Lease"],
        {"spec": {"renewTime": ""}},
        {"spec": {"renewTime": "2020-13-01T00:00:00Z"}},
        {"spec": {"renewTime": "2020-02-30T00:00:00Z"}},
        {"spec": {"renewTime": "2020-01-01T25:00:00Z"}},
        {"spec": {"renewTime": "2020-01-01T00:00:00"}},
        {"spec": {"renewTime": "2020-01-01T00:00:00Zx"}},
        {"spec": {"renewTime": "2020-01-01 00:00:00Z"}},
        {"spec": {"renewTime": 5}, "metadata": {"labels": 5}},
        {"metadata": {"labels": 5}, "spec": {"renewTime": "x"}},
    ),
    Case(
        "lists that are applied",
        [
            Step("POST", SETS.path, SETS.named()),
            *all_applied(
                SETS,
                spec(containers=[{"name": "c", "tty": 0}]),
                spec(containers=[5]),
                spec(containers=[None]),
                spec(containers=[{"name": "c"}, {"name": "c"}]),
                spec(containers=[{"name": "c", "ports": [{"containerPort": "a"}]}]),
                spec(containers=[{"name": "c", "ports": [{}, {}]}]),
                spec(containers=[{"name": "c", "args": [5]}]),
                spec(tolerations=[{"key": 5}]),
                spec(volumes={"a": "b"}),
                {"metadata": {"name": "a", "finalizers": ["a/b", "a/b"]}},
                {"metadata": {"name": "a", "finalizers": [{}]}},
                {"metadata": {"name": "a", "ownerReferences": [{}, {}]}},
                {"metadata": {"name": "b"}},
                {"metadata": {"name": ""}},
                {"metadata": {"name": 5}},
                {"metadata": []},
            ),
        ],
        managed=False,
    ),
    changes(
        "Service",
        ([{"op": "remove", "path": "/metadata/name"}], JSON_PATCH),
        ({"metadata": {"name": None}}, MERGE),
        ({"metadata": {"name": "b"}}, STRATEGIC),
        ({"metadata": {"ownerReferences": [{"name": "x"}]}}, STRATEGIC),
        ({"spec": {"ports": [{"name": "x"}]}}, STRATEGIC),
        ({"z": 1, "spec": {"type": 5, "ports": [{"port": "x"}]}}, MERGE),
    ),
    changes(
        "Secret",
        ({"data": {"a": "!"}}, STRATEGIC),
        ({"data": {"a": "!"}}, MERGE),
        ({"type": 5}, STRATEGIC),
    ),
    changes("PersistentVolumeClaim", ({"spec": {"accessModes": None}}, MERGE)),
    changes("PersistentVolume", ({"spec": {"capacity": None}}, MERGE)),
    changes("Role", ({"rules": [{"verbs": []}]}, MERGE)),
    changes(
        "NetworkPolicy",
        ({"spec": {"policyTypes": ["", "X"]}}, MERGE),
        ({"spec": {"ingress": [{"ports": [{"port": 80, "endPort": 70000}]}]}}, MERGE),
        ({"spec": {"ingress": [{"ports": [{"port": 80, "endPort": 0}]}]}}, MERGE),
        ({"spec": {"ingress": [{"ports": [{"protocol": ""}]}]}}, MERGE),
    ),
    changes("PriorityClass", ({"preemptionPolicy": "http"}, MERGE)),
    changes("IngressClass", ({"spec": {"controller": None}}, MERGE)),
    changes("ServiceAccount", ({"secrets": [{"name": "s", "fieldPath": "x"}, {}]}, MERGE)),
    changes("ResourceQuota", ({"spec": {"hard": {"pods": "1n", "requests.cpu": "1n"}}}, MERGE)),
    changes("Node", ({"spec": {"podCIDRs": ["10.1.0.0/24", "x"]}}, MERGE)),
    Case(
        "limits without a name",
        [
            Step(
                "POST",
                f"{BY_KIND['LimitRange'].path}{DRY}",
                {"spec": BY_KIND["LimitRange"].body["spec"]},
            )
        ],
        managed=False,
    ),
    posts(
        "budgets that are wrong twice",
        BY_KIND["PodDisruptionBudget"].path,
        [
            {"metadata": {"name": "50%"}, "spec": {"minAvailable": "101%"}},
            {"metadata": {"name": "50%"}, "spec": {"minAvailable": "10%"}},
        ],
    ),
    varied(
        "slices",
        BY_KIND["EndpointSlice"],
        {"ports": [{"appProtocol": "%s"}]},
        {"endpoints": [{"addresses": [], "nodeName": "A_"}]},
        {"endpoints": [{"addresses": ["192.0.2.1"], "hostname": "A_"}]},
        {"endpoints": [{"addresses": ["192.0.2.1"], "deprecatedTopology": {"a": "b"}}]},
        {"endpoints": [{"addresses": ["2001:db8::1"]}]},
        {"addressType": "FQDN", "endpoints": [{"addresses": ["a", "", "a.b.", "A_"]}]},
        {"addressType": "X"},
        {
            "endpoints": [
                {
                    "addresses": ["192.0.2.1"],
                    "hints": {
                        "forZones": [{"name": "a b"}, {"name": "z"}, {"name": "z"}],
                        "forNodes": [{"name": "A_"}, {"name": ""}],
                    },
                }
            ]
        },
    ),
    Case(
        "another uid",
        [
            Step("POST", JOBS.path, JOBS.named()),
            *(
                Step("PATCH", f"{JOBS.item}{DRY}", {"metadata": {"uid": uid}}, media)
                for uid in ("x", None, "")
                for media in (MERGE, STRATEGIC)
            ),
            Step("DELETE", JOBS.item, {"propagationPolicy": "Orphan"}),
            Step("POST", JOBS.path, JOBS.named()),
            Step("DELETE", JOBS.path),
        ],
        managed=False,
    ),
    Case(
        "parts of nobody",
        [
            Step("GET", BY_KIND["ConfigMap"].path, headers=headers)
            for headers in (
                {"Impersonate-Group": "g"},
                {"Impersonate-Uid": "u"},
                {"Impersonate-Extra-a": "b"},
                {"Impersonate-User": "", "Impersonate-Group": "g"},
            )
        ],
    ),
]
