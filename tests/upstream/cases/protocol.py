"""The verbs themselves, whatever the kind: bodies, names, versions, dry runs, preconditions."""

from typing import Any

from tests.upstream.exchange import (
    APPLY,
    JSON,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    Answers,
    Case,
    Step,
)

MAPS = "/api/v1/namespaces/{ns}/configmaps"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles"
SETS = "/apis/apps/v1/namespaces/{ns}/deployments"
YAML = "application/yaml"


def a_map(name: str = "a", **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **more}


def labelled(name: str, labels: dict[str, str], **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels, **metadata}}


def version_of(number: int) -> Any:
    def read(answers: Answers) -> Any:
        return answers[number].body["metadata"]["resourceVersion"]

    return read


def changed_after(number: int, **fields: Any) -> Any:
    """The object as answered by a step, with other fields."""

    def body(answers: Answers) -> Any:
        return {**answers[number].body, **fields}

    return body


def preconditions(number: int, *names: str, wrong: bool = False) -> Any:
    def body(answers: Answers) -> Any:
        metadata = answers[number].body["metadata"]
        said = {name: ("1" if wrong else metadata[name]) for name in names}
        return {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": said}

    return body


CREATE = Step("POST", MAPS, a_map(data={"k": "v"}))

METADATA: tuple[Any, ...] = (
    {"labels": {"": "x"}},
    {"labels": {"a b": "x"}},
    {"labels": {"a/b/c": "x"}},
    {"labels": {"/b": "x"}},
    {"labels": {"UP.example.com/b": "x"}},
    {"labels": {"a": "b c"}},
    {"labels": {"a": "x" * 64}},
    {"labels": {"a" * 64: "x"}},
    {"labels": {"b": "-", "a": "-"}},
    {"annotations": {"a b": "x", "B/UP": ""}},
    {"annotations": {"a": "x" * 262150}},
    {"finalizers": ["a"]},
    {"finalizers": ["a/b", "a b/c"]},
    {"finalizers": ["orphan", "foregroundDeletion"]},
    {"ownerReferences": [{}]},
    {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]},
    {"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "p", "uid": "u"}]},
    {
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": n, "uid": n, "controller": True}
            for n in "pq"
        ]
    },
    {"ownerReferences": [{"apiVersion": "a/b/c", "kind": "P", "name": "p", "uid": "u"}]},
    {"generation": -1},
    {"generation": 7},
    {"uid": "mine"},
    {"resourceVersion": "5"},
    {"resourceVersion": "text"},
    {"creationTimestamp": "2020-01-01T00:00:00Z"},
    {"creationTimestamp": "yesterday"},
    {"deletionTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5},
    {"selfLink": "/x"},
    {"managedFields": []},
    {"managedFields": [{"manager": "x"}]},
    {
        "managedFields": [
            {
                "manager": "x",
                "operation": "Update",
                "apiVersion": "v1",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:data": {}},
            }
        ]
    },
    {"name": "x" * 254},
    {"name": ".a"},
    {"name": "a/b"},
    {"name": "a..b"},
    {"namespace": "{ns}"},
)
CASES = [
    Case(
        "bodies that are no objects",
        [
            Step("POST", MAPS, body, type)
            for type in (JSON, YAML)
            for body in (
                "",
                "{",
                "[]",
                "null",
                '"text"',
                "12",
                "{}",
                "a: b: c",
                "kind: [",
                '{"metadata": []}',
                '{"metadata": {"name": 5}}',
                '{"metadata": {"name": "x", "labels": []}}',
                '{"metadata": {"name": "x", "labels": {"a": 1}}}',
                '{"data": "text"}',
                '{"data": {"a": 1}}',
                '{"kind": 5}',
                '{"apiVersion": {}}',
            )
        ]
        + [Step("POST", MAPS, '{"metadata": {"name": "x"}} trailing')],
    ),
    Case(
        "bodies of the wrong kind",
        [
            Step("POST", MAPS, {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}})
            for version, kind in (
                ("v1", "Secret"),
                ("v1", "Nothing"),
                ("v2", "ConfigMap"),
                ("apps/v1", "ConfigMap"),
                ("apps/v1", "Deployment"),
                ("", "Secret"),
                ("v1", ""),
                ("a/b/c", "ConfigMap"),
                ("v1", "ConfigMapList"),
                ("v1", "Status"),
            )
        ]
        + [Step("PUT", MAPS + "/x", {"apiVersion": "v1", "kind": "Secret"})],
    ),
    Case(
        "bodies of media that nobody reads",
        [
            Step("POST", MAPS, "a=b", "application/x-www-form-urlencoded"),
            Step("POST", MAPS, "<a/>", "application/xml"),
            Step("POST", MAPS, "{}", "text/plain"),
            Step("POST", MAPS, "{}", "nonsense"),
            Step("POST", MAPS, "x", "application/vnd.kubernetes.protobuf"),
            Step("POST", MAPS, a_map(), "application/json; charset=utf-8"),
            CREATE,
            Step("PUT", MAPS + "/a", "{}", "text/plain"),
            Step("PATCH", MAPS + "/a", "{}", JSON),
            Step("PATCH", MAPS + "/a", "{}", "text/plain"),
            Step("PATCH", MAPS + "/none", "{}", "text/plain"),
            Step("DELETE", MAPS + "/a", "{}", "text/plain"),
        ],
    ),
    Case(
        "a body in YAML",
        [
            Step("POST", MAPS, "metadata:\n  name: why\ndata:\n  a: b\n", YAML),
            Step("POST", MAPS, "metadata:\n  name: z\ndata:\n  a: 1\n", YAML),
            Step("GET", MAPS + "/why", headers={"Accept": YAML}),
        ],
    ),
    Case(
        "what is accepted",
        [CREATE]
        + [
            Step("GET", MAPS + "/a", headers={"Accept": accept})
            for accept in (
                "text/html",
                "text/html, */*",
                "application/*",
                "*/*",
                "application/json;as=Nothing;g=meta.k8s.io;v=v1",
                "application/json;as=Table;g=meta.k8s.io;v=v9",
                "application/json;as=Table;g=other;v=v1",
                "application/json;q=0.1,text/plain",
                "nonsense",
            )
        ],
    ),
    Case(
        "names and namespaces that do not agree",
        [
            Step("POST", MAPS, {"metadata": {"name": "a", "namespace": "other"}}),
            Step("POST", "/api/v1/configmaps", a_map()),
            Step(
                "POST", "/api/v1/namespaces", {"metadata": {"name": "{ns}-n", "namespace": "other"}}
            ),
            Step("POST", MAPS + "/a", a_map()),
            CREATE,
            CREATE,
            Step("PUT", MAPS + "/a", a_map("b")),
            Step("PUT", MAPS + "/a", {"data": {}}),
            Step("PUT", MAPS + "/a", {"metadata": {"name": "a", "namespace": "other"}}),
            Step("PUT", MAPS + "/none", a_map("none")),
            Step("PUT", MAPS, a_map()),
            Step("PATCH", MAPS + "/none", {"data": {}}, MERGE),
            Step("PATCH", MAPS + "/a", {"metadata": {"name": "b"}}, MERGE),
            Step("PATCH", MAPS + "/a", {"metadata": {"namespace": "b"}}, MERGE),
            Step("PATCH", MAPS + "/a", {"kind": "Namespace"}, MERGE),
            Step("PATCH", MAPS + "/a", {"kind": "Namespace"}, STRATEGIC),
            Step("PATCH", MAPS + "/a", {"apiVersion": "v2"}, MERGE),
            Step("PATCH", MAPS, {}, MERGE),
            Step("DELETE", MAPS + "/none"),
            Step("GET", "/api/v1/namespaces/none/configmaps"),
            Step("GET", "/api/v1/namespaces/none/configmaps/a"),
            Step("POST", "/api/v1/namespaces/none/configmaps", a_map()),
            Step("DELETE", "/api/v1/namespaces/none/configmaps/a"),
            Step("GET", "/api/v1/configmaps/a"),
            Step("DELETE", "/api/v1/configmaps"),
            Step("POST", "/api/v1/namespaces/{ns}", a_map()),
            Step("GET", "/api/v1/namespaces/{ns}/nodes"),
            Step("GET", MAPS + "/%2e%2e"),
            Step("GET", MAPS + "/a%25b"),
        ],
    ),
    Case(
        "names that are made",
        [
            Step("POST", MAPS, {"metadata": {"generateName": "made-"}}),
            Step("POST", MAPS, {"metadata": {"generateName": "made-", "name": "given"}}),
            Step("POST", MAPS, {"metadata": {"generateName": "BAD.generated-"}}),
            Step("POST", MAPS, {"metadata": {}}),
            Step("POST", MAPS, {}),
            Step("POST", ROLES, {"metadata": {}, "rules": []}),
            Step("POST", SETS, {"metadata": {}}),
            Step("POST", "/api/v1/namespaces", {"metadata": {"generateName": "BAD.generated-"}}),
        ],
    ),
    Case(
        "metadata",
        [
            Step("POST", MAPS + "?dryRun=All", {"metadata": {"name": "a", **metadata}})
            for metadata in METADATA
        ],
    ),
    Case(
        "fields that nobody knows",
        [
            Step("POST", f"{MAPS}?dryRun=All{mode}", body)
            for mode in (
                "",
                "&fieldValidation=Strict",
                "&fieldValidation=Warn",
                "&fieldValidation=Ignore",
            )
            for body in (
                '{"metadata":{"name":"a","nothing":1},"dat":{"k":"v"}}',
                '{"metadata":{"name":"a"},"data":{"k":"v"},"data":{"k":"w","k":"x"}}',
                '{"metadata":{"name":"a"},"Data":{"k":"v"}}',
            )
        ]
        + [
            Step("POST", f"{MAPS}?fieldValidation=Other", a_map()),
            CREATE,
            Step("PUT", f"{MAPS}/a?fieldValidation=Strict", {**a_map(), "x": 1}),
            Step("PUT", f"{MAPS}/a", {**a_map(), "x": 1}),
            Step("PATCH", f"{MAPS}/a?fieldValidation=Strict", {"x": 1, "y": {"z": 2}}, MERGE),
            Step("PATCH", f"{MAPS}/a", {"x": 1}, MERGE),
            Step("PATCH", f"{MAPS}/a?fieldValidation=Strict", {"x": 1}, STRATEGIC),
            Step("PATCH", f"{MAPS}/a", {"x": 1}, STRATEGIC),
            Step(
                "PATCH",
                f"{MAPS}/a?fieldValidation=Strict",
                [{"op": "add", "path": "/x", "value": 1}],
                JSON_PATCH,
            ),
            Step("PATCH", f"{MAPS}/a", '{"data":{"k":"1","k":"2"}}', MERGE),
            Step("PATCH", f"{MAPS}/a?fieldValidation=Strict", '{"data":{"k":"1","k":"2"}}', MERGE),
            Step(
                "PATCH",
                f"{MAPS}/a?fieldManager=m&fieldValidation=Strict",
                {**a_map(), "x": 1},
                APPLY,
            ),
            Step("PATCH", f"{MAPS}/a?fieldManager=m", {**a_map(), "x": 1}, APPLY),
        ],
    ),
    Case(
        "fields that nobody knows in a deployment",
        [
            Step(
                "POST",
                f"{SETS}?dryRun=All&fieldValidation={mode}",
                {
                    "metadata": {"name": "a"},
                    "spec": {
                        "replica": 1,
                        "selector": {"matchLabels": {"a": "b"}},
                        "template": {
                            "metadata": {"labels": {"a": "b"}},
                            "spec": {
                                "containers": [
                                    {"name": "c", "image": "i", "prots": [], "env": [{"nam": "x"}]}
                                ]
                            },
                        },
                    },
                },
            )
            for mode in ("Strict", "Warn")
        ]
        + [
            Step("POST", SETS, {"metadata": {"name": "a"}, "spec": {"replicas": "1"}}),
            Step("POST", SETS, {"metadata": {"name": "a"}, "spec": {"replicas": 1.5}}),
            Step("POST", SETS, {"metadata": {"name": "a"}, "spec": {"paused": "yes"}}),
            Step("POST", SETS, {"metadata": {"name": "a"}, "spec": {"template": []}}),
            Step("POST", SETS, {"metadata": {"name": "a"}, "spec": []}),
            Step("POST", SETS, {"metadata": {"name": "a"}, "spec": {"replicas": 5000000000}}),
        ],
    ),
    Case(
        "dry runs",
        [
            Step("POST", MAPS + "?dryRun=All", a_map()),
            Step("GET", MAPS + "/a"),
            Step("POST", MAPS + "?dryRun=Some", a_map()),
            Step("POST", MAPS + "?dryRun=All&dryRun=All", a_map()),
            Step("POST", MAPS + "?dryRun=", a_map("empty")),
            CREATE,
            Step("PUT", MAPS + "/a?dryRun=All", a_map(data={"k": "w"})),
            Step("PATCH", MAPS + "/a?dryRun=All", {"data": {"k": "w"}}, MERGE),
            Step("DELETE", MAPS + "/a?dryRun=All"),
            Step("DELETE", MAPS + "/a", {"dryRun": ["All"]}),
            Step("DELETE", MAPS + "/a", {"dryRun": ["None"]}),
            Step("DELETE", MAPS + "?dryRun=All"),
            Step("GET", MAPS + "/a"),
        ],
        watch=[MAPS],
    ),
    Case(
        "versions that conflict",
        [
            CREATE,
            Step("PUT", MAPS + "/a", changed_after(0, data={"k": "w"})),
            Step("PUT", MAPS + "/a", changed_after(0, data={"k": "x"})),
            Step("PUT", MAPS + "/a", changed_after(1)),
            Step("PUT", MAPS + "/a", {"metadata": {"name": "a", "resourceVersion": "text"}}),
            Step("PUT", MAPS + "/a", {"metadata": {"name": "a", "resourceVersion": "0"}}),
            Step("PUT", MAPS + "/a", {"metadata": {"name": "a", "uid": "other"}}),
            Step("PATCH", MAPS + "/a", {"metadata": {"resourceVersion": "1"}}, MERGE),
            Step("PATCH", MAPS + "/a", {"metadata": {"resourceVersion": None}}, MERGE),
            Step("PATCH", MAPS + "/a", {"metadata": {"uid": "other"}}, MERGE),
            Step("PATCH", MAPS + "/a", {"metadata": {"generateName": "other"}}, MERGE),
            Step(
                "PATCH",
                MAPS + "/a",
                {"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z"}},
                MERGE,
            ),
            Step("PATCH", MAPS + "/a", {"metadata": {"deletionGracePeriodSeconds": 5}}, MERGE),
            Step("PATCH", MAPS + "/a", {"metadata": {"generation": 5}}, MERGE),
            Step("GET", MAPS + "/a?resourceVersion=0"),
            Step("GET", MAPS + "/a?resourceVersion=text"),
        ],
        watch=[MAPS],
    ),
    Case(
        "deletions with conditions",
        [
            CREATE,
            Step("DELETE", MAPS + "/a", preconditions(0, "uid", wrong=True)),
            Step("DELETE", MAPS + "/a", preconditions(0, "resourceVersion", wrong=True)),
            Step("DELETE", MAPS + "/a", {"propagationPolicy": "Other"}),
            Step("DELETE", MAPS + "/a?propagationPolicy=Other"),
            Step("DELETE", MAPS + "/a", {"orphanDependents": True, "propagationPolicy": "Orphan"}),
            Step("DELETE", MAPS + "/a", {"gracePeriodSeconds": -1, "kind": "DeleteOptions"}),
            CREATE,
            Step("DELETE", MAPS + "/a", {"kind": "ConfigMap", "apiVersion": "v1"}),
            Step("DELETE", MAPS + "/a", {"kind": "Other", "apiVersion": "v1"}),
            Step("DELETE", MAPS + "/a", "{"),
            Step("DELETE", MAPS + "/a", "[]"),
            Step("DELETE", MAPS + "/a?gracePeriodSeconds=text"),
            Step("GET", MAPS + "/a"),
            Step("DELETE", MAPS + "/a", preconditions(7, "uid", "resourceVersion")),
            Step("GET", MAPS + "/a"),
        ],
    ),
    Case(
        "deletions that wait",
        [
            Step("POST", MAPS, {"metadata": {"name": "a", "finalizers": ["example.com/wait"]}}),
            Step("DELETE", MAPS + "/a"),
            Step("DELETE", MAPS + "/a"),
            Step("GET", MAPS + "/a"),
            Step("PATCH", MAPS + "/a", {"metadata": {"finalizers": ["example.com/more"]}}, MERGE),
            Step(
                "PATCH",
                MAPS + "/a",
                {"metadata": {"finalizers": ["example.com/wait", "example.com/more"]}},
                MERGE,
            ),
            Step("PATCH", MAPS + "/a", {"metadata": {"deletionTimestamp": None}}, MERGE),
            Step("PATCH", MAPS + "/a", {"data": {"still": "writable"}}, MERGE),
            Step("PATCH", MAPS + "/a", {"metadata": {"finalizers": None}}, MERGE),
            Step("GET", MAPS + "/a"),
        ],
        watch=[MAPS],
    ),
    *(
        Case(
            f"propagation {policy}",
            [
                Step("POST", MAPS, a_map()),
                Step("DELETE", MAPS + "/a", {"propagationPolicy": policy}),
                Step("GET", MAPS + "/a"),
                Step("DELETE", MAPS + "/a", {"propagationPolicy": "Background"}),
                Step("GET", MAPS + "/a"),
                Step("PATCH", MAPS + "/a", {"metadata": {"finalizers": []}}, MERGE),
                Step("GET", MAPS + "/a"),
            ],
            watch=[MAPS],
        )
        for policy in ("Orphan", "Foreground", "Background")
    ),
    Case(
        "orphanDependents",
        [
            Step("POST", MAPS, a_map()),
            Step("DELETE", MAPS + "/a", {"orphanDependents": True}),
            Step("GET", MAPS + "/a"),
            Step("POST", MAPS, a_map("b")),
            Step("DELETE", MAPS + "/b?orphanDependents=false"),
            Step("GET", MAPS + "/b"),
        ],
    ),
    Case(
        "collections",
        [
            *(Step("POST", MAPS, labelled(n, {"on": n})) for n in "abcd"),
            Step("DELETE", MAPS + "?labelSelector=on in (a,b)".replace(" ", "%20")),
            Step("DELETE", MAPS + "?fieldSelector=metadata.name=c"),
            Step("GET", MAPS),
            Step("DELETE", MAPS, {"propagationPolicy": "Orphan"}),
            Step("GET", MAPS),
            Step("DELETE", MAPS + "?labelSelector=!!"),
            Step("DELETE", MAPS + "?limit=1"),
            Step("DELETE", "/api/v1/namespaces"),
        ],
        watch=[MAPS],
    ),
    Case(
        "methods that resources do not have",
        [
            Step("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/a", {}),
            Step("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
            Step("GET", "/apis/authentication.k8s.io/v1/tokenreviews"),
            Step("PUT", MAPS, {}),
            Step("POST", MAPS + "/a/status", {}),
            Step("GET", MAPS + "/a/status"),
            Step("POST", SETS + "/a/status", {}),
            Step("POST", SETS + "/a/scale", {}),
            Step("DELETE", SETS + "/a/scale"),
            Step("DELETE", SETS + "/a/status"),
            Step("GET", "/api/v1/namespaces/{ns}/bindings"),
            Step("GET", "/api/v1/namespaces/{ns}/pods/p/eviction"),
            Step("GET", "/api/v1/namespaces/{ns}/pods/p/binding"),
            Step("POST", "/api/v1/componentstatuses", {}),
            Step("GET", "/api/v1/namespaces/{ns}/finalize"),
            Step("OPTIONS", MAPS),
            Step("HEAD", MAPS),
            Step("TRACE", MAPS),
        ],
    ),
    Case(
        "patches",
        [
            CREATE,
            Step("PATCH", MAPS + "/a", [], MERGE),
            Step("PATCH", MAPS + "/a", "{", MERGE),
            Step("PATCH", MAPS + "/a", "", MERGE),
            Step("PATCH", MAPS + "/a", "null", MERGE),
            Step("PATCH", MAPS + "/a", {}, MERGE),
            Step("PATCH", MAPS + "/a", {"data": "text"}, MERGE),
            Step("PATCH", MAPS + "/a", {"data": {"k": None, "l": "m"}}, MERGE),
            Step("PATCH", MAPS + "/a", {"data": None}, MERGE),
            Step("PATCH", MAPS + "/a", {}, JSON_PATCH),
            Step("PATCH", MAPS + "/a", "{", JSON_PATCH),
            Step("PATCH", MAPS + "/a", [], JSON_PATCH),
            Step(
                "PATCH",
                MAPS + "/a",
                [{"op": "add", "path": "/data", "value": {"a": "b"}}],
                JSON_PATCH,
            ),
            Step("PATCH", MAPS + "/a", [{"op": "other", "path": "/data"}], JSON_PATCH),
            Step("PATCH", MAPS + "/a", [{"op": "remove", "path": "/none"}], JSON_PATCH),
            Step("PATCH", MAPS + "/a", [{"op": "remove", "path": "/none/deep"}], JSON_PATCH),
            Step(
                "PATCH",
                MAPS + "/a",
                [{"op": "replace", "path": "/data/z", "value": "1"}],
                JSON_PATCH,
            ),
            Step(
                "PATCH", MAPS + "/a", [{"op": "test", "path": "/data/a", "value": "b"}], JSON_PATCH
            ),
            Step(
                "PATCH", MAPS + "/a", [{"op": "test", "path": "/data/a", "value": "x"}], JSON_PATCH
            ),
            Step(
                "PATCH",
                MAPS + "/a",
                [{"op": "test", "path": "/data/none", "value": "x"}],
                JSON_PATCH,
            ),
            Step(
                "PATCH",
                MAPS + "/a",
                [
                    {"op": "copy", "from": "/data/a", "path": "/data/c"},
                    {"op": "move", "from": "/data/a", "path": "/data/m"},
                ],
                JSON_PATCH,
            ),
            Step(
                "PATCH",
                MAPS + "/a",
                [{"op": "move", "from": "/none", "path": "/data/m"}],
                JSON_PATCH,
            ),
            Step("PATCH", MAPS + "/a", [{"op": "add", "path": "/data", "value": 5}], JSON_PATCH),
            Step("PATCH", MAPS + "/a", [{"op": "add", "path": "data", "value": {}}], JSON_PATCH),
            Step(
                "PATCH",
                MAPS + "/a",
                [{"op": "add", "path": "/metadata/finalizers/-", "value": "a/b"}],
                JSON_PATCH,
            ),
            Step(
                "PATCH",
                MAPS + "/a",
                [{"op": "add", "path": "/metadata/finalizers", "value": ["a/b"]}],
                JSON_PATCH,
            ),
            Step(
                "PATCH",
                MAPS + "/a",
                [{"op": "remove", "path": "/metadata/finalizers/5"}],
                JSON_PATCH,
            ),
            Step(
                "PATCH",
                MAPS + "/a",
                [{"op": "remove", "path": "/metadata/finalizers/0"}],
                JSON_PATCH,
            ),
            Step("PATCH", MAPS + "/a", [], STRATEGIC),
            Step("PATCH", MAPS + "/a", "{", STRATEGIC),
            Step("PATCH", MAPS + "/a", {"data": {"k": None, "n": "o"}}, STRATEGIC),
            Step("PATCH", MAPS + "/a", {"data": {"$patch": "replace", "p": "q"}}, STRATEGIC),
            Step("PATCH", MAPS + "/a", {"data": {"$patch": "other", "p": "q"}}, STRATEGIC),
            Step("PATCH", MAPS + "/a", {"data": {"$patch": "delete"}}, STRATEGIC),
            Step("PATCH", MAPS + "/a", {"data": "x"}, STRATEGIC),
            Step("PATCH", MAPS + "/a", {"metadata": {"finalizers": ["a/b"]}}, STRATEGIC),
            Step("PATCH", MAPS + "/a", {"metadata": {"finalizers": ["a/c"]}}, STRATEGIC),
            Step(
                "PATCH",
                MAPS + "/a",
                {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/b"]}},
                STRATEGIC,
            ),
            Step("PATCH", MAPS + "/a", {"metadata": {"finalizers": None}}, STRATEGIC),
            Step("PATCH", MAPS + "/a?force=true", {}, MERGE),
            Step("PATCH", MAPS + "/a?fieldManager=" + "m" * 129, {}, MERGE),
            Step("PATCH", MAPS + "/a?fieldManager=a%0Ab", {}, MERGE),
        ],
    ),
]
