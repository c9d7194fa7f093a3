"""Namespaces: the smallest set of cases, every verb once."""

from tests.upstream.exchange import MERGE, Case, Step

CASES = [
    Case(
        "create read patch and delete a config map",
        [
            Step("POST", "/api/v1/namespaces/{ns}/configmaps", {"metadata": {"name": "a"}}),
            Step("GET", "/api/v1/namespaces/{ns}/configmaps/a"),
            Step("PATCH", "/api/v1/namespaces/{ns}/configmaps/a", {"data": {"k": "v"}}, MERGE),
            Step("DELETE", "/api/v1/namespaces/{ns}/configmaps/a"),
            Step("GET", "/api/v1/namespaces/{ns}/configmaps/a"),
        ],
        watch=["/api/v1/namespaces/{ns}/configmaps"],
    ),
    Case(
        "names that are none",
        [
            Step("POST", "/api/v1/namespaces", {"metadata": {"name": "Upper"}}),
            Step("POST", "/api/v1/namespaces", {"metadata": {"name": "a" * 64}}),
            Step("POST", "/api/v1/namespaces", {"metadata": {}}),
            Step("GET", "/api/v1/namespaces/nobody"),
        ],
    ),
]
