"""Every act on every served resource is judged by a recorded case, or it is said here why not."""

from collections.abc import Mapping
from typing import Final

import pytest
from tests.upstream.coverage import (
    Pair,
    answered,
    group_versions,
    judged,
    pairs,
    resource_lists,
    served,
)
from tests.upstream.exchange import APPLY, MERGE, Step

_KUBELET: Final = "needs a kubelet behind it; what is refused before that is compared"
# What is only refused in the recorded cases, as they have an API server and nothing beside it.
REFUSED: Final[Mapping[str, str]] = {
    "v1 pods/attach": _KUBELET,
    "v1 pods/exec": _KUBELET,
    "v1 pods/portforward": _KUBELET,
    "v1 nodes/proxy": _KUBELET,
    "v1 pods/proxy": "needs a pod that answers; what is refused before that is compared",
    "v1 services/proxy": "needs a pod that answers; what is refused before that is compared",
}
_DEFINITION: Final = "definitions are kept, what they define is not served: they are never accepted"
NOT_JUDGED: Final[Mapping[str, str]] = {
    "apiextensions.k8s.io/v1 customresourcedefinitions": _DEFINITION,
    "apiextensions.k8s.io/v1 customresourcedefinitions/status": _DEFINITION,
}


def test_all_that_is_served_is_judged() -> None:
    excused = {pair for pair in served() if pair.resource in {*REFUSED, *NOT_JUDGED}}
    missing = sorted(map(str, served() - judged() - excused))
    assert not missing, "no recorded case has:\n" + "\n".join(missing)


def test_what_is_only_refused_is_asked_for() -> None:
    asked = {pair.resource for pair in answered()}
    assert asked >= REFUSED.keys()


@pytest.mark.parametrize("resource", sorted({*REFUSED, *NOT_JUDGED}))
def test_every_excuse_is_needed(resource: str) -> None:
    wanted = {pair for pair in served() if pair.resource == resource}
    assert wanted, "it is not served at all"
    assert wanted - judged(), "it is judged: the excuse can go"


def test_discovery_lists_every_version_that_its_roots_name() -> None:
    assert {found["groupVersion"] for found in resource_lists()} == group_versions()


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (
            Step("GET", "/api/v1/namespaces/{ns}/pods?limit=1&labelSelector=a"),
            {("v1 pods", "list"), ("v1 pods", "list limit"), ("v1 pods", "list labelSelector")},
        ),
        (Step("GET", "/api/v1/namespaces/{ns}"), {("v1 namespaces", "get")}),
        (Step("PUT", "/api/v1/namespaces/{ns}/finalize"), {("v1 namespaces/finalize", "update")}),
        (
            Step("PATCH", "/apis/apps/v1/namespaces/{ns}/deployments/a/scale", {}, MERGE),
            {("apps/v1 deployments/scale", "patch merge")},
        ),
        (
            Step("PATCH", "/apis/apps/v1/namespaces/{ns}/deployments/a?dryRun=All", {}, APPLY),
            {("apps/v1 deployments", "patch apply dryRun")},
        ),
        (Step("DELETE", "/api/v1/nodes"), {("v1 nodes", "deletecollection")}),
        (
            Step("GET", "/api/v1/nodes?watch=1", headers={"Accept": "a/b;as=Table"}),
            {("v1 nodes", "watch"), ("v1 nodes", "watch as Table")},
        ),
        (Step("GET", "/version"), set()),
    ],
)
def test_a_step_is_read_as_what_it_asks(step: Step, expected: set[tuple[str, str]]) -> None:
    assert set(pairs(step, [])) == {Pair(*pair) for pair in expected}
