"""Paths of the REST API."""

import pytest

from winkube.client.resource import LEASES, NODES, PODS, Resource


@pytest.mark.parametrize(
    ("resource", "words", "path"),
    [
        (PODS, (), "/api/v1/pods"),
        (PODS, ("a", "b", "status"), "/api/v1/namespaces/a/pods/b/status"),
        (PODS, ("a", "b", "proxy/x y/z"), "/api/v1/namespaces/a/pods/b/proxy/x%20y/z"),
        (PODS, ("a b", "../é"), "/api/v1/namespaces/a%20b/pods/..%2F%C3%A9"),
        (NODES, ("ignored", "system:n"), "/api/v1/nodes/system:n"),
        (LEASES, ("a",), "/apis/coordination.k8s.io/v1/namespaces/a/leases"),
    ],
)
def test_a_path_is_quoted_word_by_word(resource: Resource, words: list[str], path: str) -> None:
    assert resource.path(*words) == path
    assert resource.path(*words) == path, "remembered as it was"
