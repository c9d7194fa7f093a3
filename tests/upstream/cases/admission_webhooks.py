"""Configurations of webhooks: defaults, and what is refused."""

from typing import Any

from tests.upstream.exchange import Case, Step

_GROUP = "/apis/admissionregistration.k8s.io/v1"
_RULE = {
    "apiGroups": ["example.com"],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["things"],
}


def hook(**fields: Any) -> dict[str, Any]:
    full = {
        "name": "a.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/x"},
        "rules": [_RULE],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **fields,
    }
    return {key: value for key, value in full.items() if value is not None}


def case(name: str, *hooks: dict[str, Any], kind: str = "validating") -> Case:
    path = f"{_GROUP}/{kind}webhookconfigurations"
    obj = {"metadata": {"name": "{ns}-a"}, "webhooks": list(hooks)}
    return Case(
        f"{kind}: {name}",
        [Step("POST", path, obj), Step("DELETE", path + "/{ns}-a")],
        managed=False,
    )


def rule(name: str, **fields: Any) -> Case:
    return case(f"rule with {name}", hook(rules=[{**_RULE, **fields}]))


def service(what: str, **fields: Any) -> Case:
    full = {"namespace": "n", "name": "s", **fields}
    return case(f"service with {what}", hook(clientConfig={"service": full}))


def url(name: str, text: str) -> Case:
    return case(f"url with {name}", hook(clientConfig={"url": text}))


CASES = [
    case("complete", hook()),
    case("complete", hook(), kind="mutating"),
    case("by service", hook(clientConfig={"service": {"namespace": "n", "name": "s"}})),
    case("name without dots", hook(name="short")),
    case("name that is none", hook(name="A.b.c")),
    case("name empty", hook(name="")),
    case("name twice", hook(), hook()),
    case("failure policy", hook(failurePolicy="Odd")),
    case("match policy", hook(matchPolicy="Odd")),
    case("side effects", hook(sideEffects="Some")),
    case("side effects missing", hook(sideEffects=None)),
    case("timeout", hook(timeoutSeconds=31)),
    case("versions missing", hook(admissionReviewVersions=[])),
    case("versions unknown", hook(admissionReviewVersions=["v7", "v7"])),
    case("versions that are none", hook(admissionReviewVersions=["1", "v1"])),
    case("no way to reach it", hook(clientConfig={})),
    case(
        "two ways to reach it",
        hook(
            clientConfig={
                "url": "https://x/y",
                "service": {"namespace": "n", "name": "s"},
            }
        ),
    ),
    case("selector", hook(namespaceSelector={"matchLabels": {"a b": "c"}})),
    case("asked again", hook(reinvocationPolicy="Odd"), kind="mutating"),
    rule("no operations", operations=[]),
    rule("all operations and one", operations=["*", "CREATE"]),
    rule("an operation unknown", operations=["Odd"]),
    rule("no groups", apiGroups=[]),
    rule("all groups and one", apiGroups=["*", "a"]),
    rule("no versions", apiVersions=[]),
    rule("an empty version", apiVersions=[""]),
    rule("no resources", resources=[]),
    rule("everything and more", resources=["*/*", "a"]),
    rule("all and one", resources=["*", "a"]),
    rule("all parts and one", resources=["a/*", "a/b"]),
    rule("all resources' part and one", resources=["*/b", "a/b"]),
    rule("an empty resource", resources=[""]),
    rule("a scope unknown", scope="Odd"),
    url("http", "http://x/y"),
    url("no host", "https:///y"),
    url("a user", "https://u@x/y"),
    url("a query", "https://x/y?z=1"),
    url("a fragment", "https://x/y#z"),
    service("no name", name=""),
    service("no namespace", namespace=""),
    service("a port", port=70000),
    service("a path", path="x"),
    service("an empty path segment", path="/a//b"),
    service("two slashes", path="//"),
    service("a bad path segment", path="/A"),
]
