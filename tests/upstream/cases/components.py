"""The status of components, with no component beside the server."""

from tests.upstream.exchange import Case, Step

PATH = "/api/v1/componentstatuses"
TABLE = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}

CASES = [
    Case(
        "one by one",
        [
            *(Step("GET", f"{PATH}/{name}") for name in ("etcd-0", "scheduler", "nothing")),
            Step("GET", f"{PATH}/controller-manager", headers=TABLE),
            Step("GET", f"{PATH}?fieldSelector=metadata.name%3Detcd-0"),
            Step("GET", f"{PATH}?labelSelector=a%3Db"),
            Step("GET", f"{PATH}?watch=1&timeoutSeconds=1"),
            Step("DELETE", f"{PATH}/etcd-0"),
            Step("POST", PATH, {}),
        ],
    ),
]
