"""Questions about access, and acting as somebody else."""

from typing import Any

from tests.upstream.exchange import Case, Step

AUTHORIZATION = "/apis/authorization.k8s.io/v1"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"
MAPS = "/api/v1/namespaces/{ns}/configmaps"
GET = {"verb": "get", "resource": "pods", "namespace": "{ns}"}


def acting(user: str, *groups: str, **extra: str) -> dict[str, str]:
    headers = {"Impersonate-User": user} if user else {}
    if groups:
        headers["Impersonate-Group"] = groups[0]
    return {**headers, **{f"Impersonate-Extra-{key}": value for key, value in extra.items()}}


def review(kind: str, spec: dict[str, Any], **more: Any) -> Step:
    return Step("POST", f"{AUTHORIZATION}/{kind}", {"spec": spec}, **more)


CASES = [
    Case(
        "may I",
        [
            review("selfsubjectaccessreviews", {"resourceAttributes": GET}),
            review(
                "selfsubjectaccessreviews", {"nonResourceAttributes": {"verb": "get", "path": "/x"}}
            ),
            review("selfsubjectaccessreviews", {}),
            review(
                "selfsubjectaccessreviews",
                {"resourceAttributes": GET, "nonResourceAttributes": {"path": "/x", "verb": "get"}},
            ),
            review("selfsubjectaccessreviews", {"resourceAttributes": GET}, headers=acting("bob")),
            Step("POST", f"{AUTHORIZATION}/selfsubjectaccessreviews", "{"),
        ],
        managed=False,
    ),
    Case(
        "may they",
        [
            review("subjectaccessreviews", {"user": "bob", "resourceAttributes": GET}),
            review(
                "subjectaccessreviews", {"groups": ["system:masters"], "resourceAttributes": GET}
            ),
            review("subjectaccessreviews", {"resourceAttributes": GET}),
            review("subjectaccessreviews", {"user": "bob"}),
            review(
                "subjectaccessreviews",
                {"user": "bob", "nonResourceAttributes": {"verb": "get", "path": "/healthz"}},
            ),
            review(
                "namespaces/{ns}/localsubjectaccessreviews",
                {"user": "bob", "resourceAttributes": GET},
            ),
            review(
                "namespaces/{ns}/localsubjectaccessreviews",
                {"user": "bob", "resourceAttributes": {**GET, "namespace": "other"}},
            ),
            review("namespaces/{ns}/localsubjectaccessreviews", {"user": "bob"}),
        ],
        managed=False,
    ),
    Case(
        "who am I",
        [
            Step("POST", f"{AUTHENTICATION}/selfsubjectreviews", {}),
            Step(
                "POST",
                f"{AUTHENTICATION}/selfsubjectreviews",
                {},
                headers=acting("bob", "team", color="red"),
            ),
            Step("POST", f"{AUTHENTICATION}/tokenreviews", {"spec": {"token": "x.y.z"}}),
            Step("POST", f"{AUTHENTICATION}/tokenreviews", {"spec": {}}),
        ],
        managed=False,
    ),
    Case(
        "acting as others",
        [
            Step("GET", MAPS, headers=acting("bob")),
            Step("GET", MAPS + "/a", headers=acting("bob")),
            Step("POST", MAPS, {"metadata": {"name": "a"}}, headers=acting("bob")),
            Step("DELETE", MAPS, headers=acting("bob")),
            Step("GET", "/api/v1/nodes", headers=acting("bob", "team")),
            Step("GET", "/apis/apps/v1/namespaces/{ns}/deployments/a/scale", headers=acting("bob")),
            Step("GET", "/nothing", headers=acting("bob")),
            Step("GET", "/metrics", headers=acting("bob")),
            Step("GET", MAPS, headers=acting("bob", "system:masters")),
            Step("GET", MAPS, headers=acting("system:serviceaccount:{ns}:default")),
            Step("GET", "/apis/nothing.example.com/v1/things", headers=acting("bob")),
        ],
        managed=False,
    ),
]
