import pytest

from winkube.apiserver.target import Target, parse_target, split_url


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/v1/pods", Target("", "v1", "pods")),
        ("/api/v1/namespaces/a", Target("", "v1", "namespaces", name="a")),
        (
            "/api/v1/namespaces/a/finalize",
            Target("", "v1", "namespaces", name="a", subresource="finalize"),
        ),
        ("/api/v1/namespaces/a/pods/p", Target("", "v1", "pods", "a", "p")),
        (
            "/apis/apps/v1/namespaces/a/deployments/d/scale",
            Target("apps", "v1", "deployments", "a", "d", "scale"),
        ),
        (
            "/api/v1/nodes/n/proxy/logs/x",
            Target("", "v1", "nodes", name="n", subresource="proxy", rest="logs/x"),
        ),
        ("/api/v1/watch/pods", Target("", "v1", "pods", watch=True)),
        ("/api/v1/namespaces/a/pods/%2e%2e", Target("", "v1", "pods", "a", "..")),
    ],
)
def test_path_names_a_resource(path: str, expected: Target) -> None:
    assert parse_target(path) == expected


@pytest.mark.parametrize("path", ["/", "/healthz", "/apis", "/apis/apps", "/api"])
def test_other_paths_name_no_resource(path: str) -> None:
    assert parse_target(path) is None


def test_first_of_repeated_parameters_counts() -> None:
    assert split_url("/x?a=1&b=&a=2") == ("/x", {"a": "1", "b": ""})


@pytest.mark.parametrize("path", ["nodes/a%2Fproxy", "nodes/../pods", "namespaces/a%2Fpods/b"])
def test_paths_that_others_may_split_elsewhere_are_ambiguous(path: str) -> None:
    target = parse_target(f"/apis/metrics.k8s.io/v1beta1/{path}")
    assert target is not None
    assert target.is_ambiguous


def test_what_follows_a_subresource_is_nobodys_name() -> None:
    target = parse_target("/apis/x.y/v1/things/a/proxy/b%2Fc")
    assert target is not None
    assert not target.is_ambiguous
