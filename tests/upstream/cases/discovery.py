"""What a server says about itself: groups, resources, versions, health."""

from tests.upstream.exchange import Case, Step

GROUPS = (
    "admissionregistration.k8s.io/v1",
    "apiextensions.k8s.io/v1",
    "apiregistration.k8s.io/v1",
    "apps/v1",
    "authentication.k8s.io/v1",
    "authorization.k8s.io/v1",
    "autoscaling/v1",
    "autoscaling/v2",
    "batch/v1",
    "certificates.k8s.io/v1",
    "coordination.k8s.io/v1",
    "discovery.k8s.io/v1",
    "events.k8s.io/v1",
    "flowcontrol.apiserver.k8s.io/v1",
    "networking.k8s.io/v1",
    "node.k8s.io/v1",
    "policy/v1",
    "rbac.authorization.k8s.io/v1",
    "resource.k8s.io/v1",
    "scheduling.k8s.io/v1",
    "storage.k8s.io/v1",
)
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"


def _aggregated(path: str, version: str) -> Step:
    return Step("GET", path, headers={"Accept": AGGREGATED.format(version)})


CASES = [
    Case("the roots", [Step("GET", path) for path in ("/api", "/api/", "/apis", "/apis/")]),
    Case(
        "groups",
        [Step("GET", f"/apis/{group}") for group in sorted({g.split("/")[0] for g in GROUPS})],
    ),
    Case("core resources", [Step("GET", "/api/v1"), Step("GET", "/api/v1/")]),
    *(Case(f"resources of {group}", [Step("GET", f"/apis/{group}")]) for group in GROUPS),
    Case(
        "aggregated",
        [
            _aggregated("/api", "v2"),
            _aggregated("/apis", "v2"),
            _aggregated("/api", "v2beta1"),
            _aggregated("/apis", "v2beta1"),
            _aggregated("/apis", "v3"),
            Step(
                "GET",
                "/apis",
                headers={"Accept": AGGREGATED.format("v2") + "," + "application/json"},
            ),
        ],
    ),
    Case(
        "paths that nobody serves",
        [
            Step("GET", path)
            for path in (
                "/nothing",
                "/api/v2",
                "/api/v1/nothing",
                "/api/v1/namespaces/{ns}/nothing",
                "/api/v1/namespaces/{ns}/nothing/name",
                "/api/v1/namespaces/{ns}/pods/name/nothing",
                "/apis/nothing",
                "/apis/nothing/v1",
                "/apis/nothing/v1/things",
                "/apis/apps/v2",
                "/apis/apps/v1beta1/deployments",
                "/apis/apps/v1/nothing",
                "/apis/apps/v1/namespaces/{ns}/deployments/a/nothing",
                "/openapi",
                "/openapi/v4",
                "/version/x",
                "/healthz/nothing",
            )
        ]
        + [Step(verb, "/nothing", {}) for verb in ("POST", "PUT", "PATCH", "DELETE")],
    ),
    Case(
        "health",
        [
            Step("GET", path)
            for path in (
                "/healthz",
                "/livez",
                "/readyz",
                "/healthz/ping",
                "/livez/etcd",
                "/readyz/ping",
            )
        ]
        + [Step(verb, "/healthz") for verb in ("POST", "PUT", "DELETE")],
    ),
    Case(
        "the index and the version",
        [Step("GET", path) for path in ("/", "/index.html", "/version", "/version/")],
    ),
    Case(
        "health in words",
        [
            Step("GET", f"/{page}{query}")
            for page in ("healthz", "livez", "readyz")
            for query in (
                "?verbose",
                "?verbose=false",
                "/",
                "?exclude=etcd",
                "?exclude=nothing",
                "?verbose&exclude=etcd",
                "?verbose&exclude=etcd&exclude=nothing",
            )
        ],
    ),
    Case(
        "single checks",
        [
            Step("GET", f"/{page}/{check}{query}")
            for page in ("healthz", "livez", "readyz")
            for check in (
                "log",
                "etcd-readiness",
                "informer-sync",
                "poststarthook/rbac/bootstrap-roles",
                "poststarthook/bootstrap-controller",
                "autoregister-completion",
                "shutdown",
                "nothing",
                "poststarthook",
            )
            for query in ("", "?verbose")
        ],
    ),
    Case(
        "other verbs on pages",
        [
            Step(verb, path)
            for path in ("/", "/version", "/api", "/apis", "/apis/apps", "/apis/apps/v1", "/livez")
            for verb in ("POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS")
        ],
    ),
]
