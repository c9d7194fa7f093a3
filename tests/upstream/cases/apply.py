"""Server-side apply: who owns what, conflicts, taking over, leaving, and plain writes beside it."""

from typing import Any

from tests.upstream.exchange import APPLY, JSON_PATCH, MERGE, STRATEGIC, Case, Step
from tests.upstream.objects import SAMPLE

MAPS = "/api/v1/namespaces/{ns}/configmaps"
PODS = "/apis/apps/v1/namespaces/{ns}/deployments"
DEPLOYMENT = SAMPLE["Deployment"]


def config(data: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", **metadata},
    }
    return made if data is None else {**made, "data": data}


def applied(manager: str, body: Any, *, force: bool = False, path: str = MAPS + "/a") -> Step:
    more = "&force=true" if force else ""
    return Step("PATCH", f"{path}?fieldManager={manager}{more}", body, APPLY)


def workload(containers: list[Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a"},
        "spec": {
            "selector": {"matchLabels": {"app": "a"}},
            "template": {
                "metadata": {"labels": {"app": "a"}},
                "spec": {"containers": containers},
            },
            **spec,
        },
    }


def container(name: str, image: str = "i:1", **more: Any) -> dict[str, Any]:
    return {"name": name, "image": image, **more}


D = PODS + "/a"

CASES = [
    Case(
        "one manager",
        [
            applied("m", config({"a": "1", "b": "2"}, labels={"x": "y"})),
            applied("m", config({"a": "1", "b": "2"}, labels={"x": "y"})),
            applied("m", config({"a": "1"}, labels={"x": "z"})),
            applied("m", config()),
            applied("m", config({})),
            Step("GET", MAPS + "/a"),
        ],
        watch=[MAPS],
    ),
    Case(
        "two managers",
        [
            applied("m", config({"a": "1", "b": "2"})),
            applied("n", config({"a": "1", "c": "3"})),
            applied("n", config({"a": "9", "b": "9", "c": "4"})),
            applied("n", config({"a": "9"})),
            applied("n", config({"a": "9", "c": "4"}), force=True),
            applied("m", config({"b": "2"})),
            applied("m", config({})),
            applied("n", config({})),
            Step("GET", MAPS + "/a"),
        ],
    ),
    Case(
        "plain writes beside",
        [
            Step("POST", MAPS, config({"a": "1", "b": "2"}), headers={"User-Agent": "tool/v1 (x)"}),
            Step("PATCH", MAPS + "/a", {"data": {"a": "2"}}, MERGE, {"User-Agent": "other/v2"}),
            Step("PATCH", MAPS + "/a?fieldManager=named", {"data": {"b": None, "c": "3"}}, MERGE),
            Step("PATCH", MAPS + "/a?fieldManager=named", {"data": {"d": "4"}}, STRATEGIC),
            Step(
                "PATCH",
                MAPS + "/a?fieldManager=named",
                [{"op": "remove", "path": "/data/a"}],
                JSON_PATCH,
            ),
            applied("m", config({"c": "9"})),
            applied("m", config({"c": "9", "e": "5"}), force=True),
            Step("PUT", MAPS + "/a?fieldManager=put", config({"e": "6"})),
            Step("GET", MAPS + "/a"),
            Step("PATCH", MAPS + "/a", {"metadata": {"managedFields": []}}, MERGE),
            Step("PATCH", MAPS + "/a", {"metadata": {"managedFields": [{}]}}, MERGE),
            Step("PATCH", MAPS + "/a", {"data": {"f": "6"}}, MERGE),
            applied("m", config({"f": "7"})),
            Step("GET", MAPS + "/a"),
        ],
    ),
    Case(
        "lists with keys",
        [
            applied("m", workload([container("c"), container("d")]), path=D),
            applied("n", workload([container("d", "i:2")]), path=D),
            applied("n", workload([container("d", env=[{"name": "A", "value": "1"}])]), path=D),
            applied("m", workload([container("c", ports=[{"containerPort": 80}])]), path=D),
            applied(
                "m",
                workload(
                    [
                        container("e"),
                        container("c", ports=[{"containerPort": 80, "protocol": "UDP"}]),
                    ]
                ),
                path=D,
            ),
            applied("n", workload([container("d", "i:3")], replicas=3), path=D),
            Step("PATCH", D + "?fieldManager=k", {"spec": {"replicas": 5}}, MERGE),
            applied("n", workload([container("d", "i:3")], replicas=3), path=D),
            applied("n", workload([container("d", "i:3")], replicas=3), path=D, force=True),
            Step("GET", D),
        ],
    ),
    Case(
        "status",
        [
            Step("POST", PODS + "?fieldManager=maker", DEPLOYMENT.named()),
            applied(
                "s",
                {
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "metadata": {"name": "a"},
                    "status": {"replicas": 2, "conditions": [{"type": "A", "status": "True"}]},
                },
                path=D + "/status",
            ),
            Step("PATCH", D + "/status?fieldManager=t", {"status": {"replicas": 3}}, MERGE),
            applied(
                "s",
                {
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "metadata": {"name": "a"},
                    "status": {"replicas": 2},
                },
                path=D + "/status",
            ),
            Step("PATCH", D + "/scale?fieldManager=scaler", {"spec": {"replicas": 7}}, MERGE),
            Step("GET", D),
        ],
    ),
    Case(
        "a client's own apply becomes the server's",
        [
            Step("POST", PODS + "?fieldManager=m", DEPLOYMENT.named(labels={"x": "y"})),
            Step(
                "PATCH",
                D,
                [
                    {
                        "op": "replace",
                        "path": "/metadata/managedFields/0/operation",
                        "value": "Apply",
                    }
                ],
                JSON_PATCH,
            ),
            applied("m", workload([container("c")]), path=D),
            Step("GET", D),
        ],
    ),
    Case(
        "what is no apply",
        [
            Step("PATCH", MAPS + "/a", config({"a": "1"}), APPLY),
            applied("m", "["),
            applied("m", "[]"),
            applied("m", "{}"),
            applied("m", {"metadata": {"name": "a"}}),
            applied("m", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}),
            applied("m", config({"a": "1"}, name="b")),
            applied("m", config({"a": "1"}, namespace="other")),
            applied("m", config({"a": "1"}, managedFields=[{"manager": "x"}])),
            applied("m", config({"a": "1"}, resourceVersion="1")),
            applied("m", config({"a": "1"}, uid="x")),
            applied("m", {**config(), "data": []}),
            applied("m", {**config(), "data": {"a": 1}}),
            applied("m", config({"a": "1"}), path="/api/v1/namespaces/none/configmaps/a"),
            applied(
                "m", {**config(), "kind": "Deployment", "apiVersion": "apps/v1"}, path=D + "/status"
            ),
            Step("PATCH", MAPS + "/a?fieldManager=m&force=x", config(), APPLY),
            Step("PATCH", MAPS + "/a?fieldManager=m&dryRun=All", config({"a": "1"}), APPLY),
            Step("GET", MAPS + "/a"),
        ],
    ),
]
