"""What a kubelet's certificate opens: its own node, its own pods, and what those refer to."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

MERGE = "application/merge-patch+json"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


@dataclass
class Place:
    """Two nodes; a pod with a secret, a config map, a claim and an account on each."""

    own: Any
    other: Any
    root: str


def _pod(name: str, node: str) -> dict[str, Any]:
    volumes = [
        {"name": "s", "secret": {"secretName": f"s-{name}"}},
        {"name": "p", "projected": {"sources": [{"configMap": {"name": f"c-{name}"}}]}},
        {"name": "v", "persistentVolumeClaim": {"claimName": f"v-{name}"}},
    ]
    container = {"name": "c", "image": "i", "envFrom": [{"secretRef": {"name": f"e-{name}"}}]}
    return {
        "metadata": {"name": name},
        "spec": {
            "nodeName": node,
            "serviceAccountName": f"a-{name}",
            "volumes": volumes,
            "containers": [container],
        },
    }


@pytest.fixture
def place(api: Any, server: Any, space: str) -> Iterator[Place]:
    root = f"/api/v1/namespaces/{space}"
    for name, node in (("p1", "node-1"), ("p2", "node-2")):
        for prefix in "se":
            api("POST", f"{root}/secrets", {"metadata": {"name": f"{prefix}-{name}"}})
        api("POST", f"{root}/configmaps", {"metadata": {"name": f"c-{name}"}})
        api("POST", f"{root}/serviceaccounts", {"metadata": {"name": f"a-{name}"}})
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        claims = f"{root}/persistentvolumeclaims"
        assert api("POST", claims, {"metadata": {"name": f"v-{name}"}, "spec": claim}).status == 201
        assert api("POST", f"{root}/pods", _pod(name, node)).status == 201
        assert api("POST", "/api/v1/nodes", {"metadata": {"name": node}}).status == 201
    kubelets = [
        type(api)(server, server.authority.issue(node, f"system:node:{node}", ("system:nodes",)))
        for node in ("node-1", "node-2")
    ]
    yield Place(kubelets[0], kubelets[1], root)
    for path in (f"{root}/pods/p1", f"{root}/pods/p2"):
        api("DELETE", path, {"gracePeriodSeconds": 0})
    for node in ("node-1", "node-2"):
        api("DELETE", f"/api/v1/nodes/{node}")
        api("DELETE", f"{LEASES}/{node}")


def test_kubelet_reads_only_what_its_pods_refer_to(place: Place) -> None:
    for kind, prefix in (
        ("secrets", "s"),
        ("secrets", "e"),
        ("configmaps", "c"),
        ("persistentvolumeclaims", "v"),
    ):
        assert place.own("GET", f"{place.root}/{kind}/{prefix}-p1").status == 200, kind
        assert place.own("GET", f"{place.root}/{kind}/{prefix}-p2").status == 403, kind
        assert place.own("GET", f"{place.root}/{kind}").status == 403, kind
        assert place.own("GET", f"/api/v1/{kind}").status == 403, kind
    listed = place.own("GET", f"{place.root}/secrets?fieldSelector=metadata.name%3Ds-p1")
    assert listed.status == 200
    assert (
        place.own("GET", f"{place.root}/secrets?fieldSelector=metadata.name!%3Ds-p1").status == 403
    )
    refused = place.own("GET", f"{place.root}/secrets/s-p2")
    assert "no relationship found between node 'node-1' and this object" in refused.message


def test_right_to_a_secret_ends_with_the_pod(api: Any, place: Place) -> None:
    api("DELETE", f"{place.root}/pods/p1", {"gracePeriodSeconds": 0})
    assert place.own("GET", f"{place.root}/secrets/s-p1").status == 403


def test_kubelet_sees_only_its_own_pods_and_node(place: Place) -> None:
    own = "fieldSelector=spec.nodeName%3Dnode-1"
    assert place.own("GET", f"/api/v1/pods?{own}").status == 200
    for query in ("", "?fieldSelector=spec.nodeName%3Dnode-2", "?fieldSelector=spec.nodeName!%3Dx"):
        assert place.own("GET", f"/api/v1/pods{query}").status == 403, query
    assert place.own("GET", f"{place.root}/pods/p1").status == 200
    assert place.own("GET", f"{place.root}/pods/p2").status == 403
    assert place.own("GET", "/api/v1/nodes/node-1").status == 200
    assert place.own("GET", "/api/v1/nodes/node-2").status == 403
    assert place.own("GET", "/api/v1/nodes").status == 403
    assert place.own("GET", f"{place.root}/pods/p1/exec?command=x").status == 403
    assert place.own("GET", "/api/v1/nodes/node-1/proxy/pods").status == 403


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}},
        {"metadata": {"labels": {"node-restriction.kubernetes.io/trusted": "yes"}}},
        {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}},
        {
            "metadata": {
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "gone"}
                ]
            }
        },
    ],
)
def test_kubelet_does_not_free_its_node_from_what_others_decide(place: Place, change: Any) -> None:
    before = place.own("GET", "/api/v1/nodes/node-1").body
    assert place.own("PATCH", "/api/v1/nodes/node-1", change, Content_Type=MERGE).status == 403
    place.own("PATCH", "/api/v1/nodes/node-1/status", change, Content_Type=MERGE)
    assert place.own("GET", "/api/v1/nodes/node-1").body == before
    labels = {"metadata": {"labels": {"node.kubernetes.io/x": "y", "example.com/z": "1"}}}
    assert place.own("PATCH", "/api/v1/nodes/node-1", labels, Content_Type=MERGE).status == 200


def test_kubelet_writes_no_other_node_and_deletes_none(place: Place) -> None:
    labels = {"metadata": {"labels": {"example.com/z": "1"}}}
    for path in ("/api/v1/nodes/node-2", "/api/v1/nodes/node-2/status"):
        assert place.own("PATCH", path, labels, Content_Type=MERGE).status == 403
    assert place.own("DELETE", "/api/v1/nodes/node-1").status == 403
    assert place.own("DELETE", "/api/v1/nodes").status == 403


def test_kubelet_reports_only_the_size_of_its_claims(place: Place) -> None:
    path = f"{place.root}/persistentvolumeclaims/v-p1"
    size = {"status": {"capacity": {"storage": "2Gi"}}}
    assert place.own("PATCH", f"{path}/status", size, Content_Type=MERGE).status == 200
    assert place.own("PATCH", path, size, Content_Type=MERGE).status == 403
    assert place.other("PATCH", f"{path}/status", size, Content_Type=MERGE).status == 403
    for change, field in (
        ({"status": {"phase": "Lost"}}, "status.phase"),
        ({"metadata": {"labels": {"a": "b"}}}, "metadata.labels"),
    ):
        said = place.own("PATCH", f"{path}/status", change, Content_Type=MERGE)
        assert said.status == 403
        assert said.message.endswith(
            'node "node-1" is not allowed to update fields other than status.quantity and '
            f"status.conditions: {field}"
        )


def test_kubelet_hears_that_its_rights_cannot_be_listed(place: Place) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    said = place.own("POST", path, {"spec": {"namespace": "default"}}).body
    assert said["spec"] == {}
    assert said["status"]["incomplete"] is True
    assert said["status"]["evaluationError"] == (
        "node authorizer does not support user rule resolution"
    )


def test_kubelet_evicts_only_its_own_pods(place: Place) -> None:
    for name, expected in (("p2", 403), ("p1", 201)):
        body = {"metadata": {"name": name}}
        assert place.own("POST", f"{place.root}/pods/{name}/eviction", body).status == expected


def test_kubelet_writes_only_its_own_lease(place: Place) -> None:
    for name, expected in (("node-2", 403), ("node-1", 201)):
        assert place.own("POST", LEASES, {"metadata": {"name": name}}).status == expected
    spec = {"spec": {"holderIdentity": "x"}}
    assert place.own("PATCH", f"{LEASES}/node-1", spec, Content_Type=MERGE).status == 200
    assert place.own("PATCH", f"{LEASES}/node-2", spec, Content_Type=MERGE).status == 403
    elsewhere = LEASES.replace("kube-node-lease", "kube-system")
    assert place.own("POST", elsewhere, {"metadata": {"name": "node-1"}}).status == 403


def test_kubelet_changes_only_its_own_pods(place: Place) -> None:
    status = {"status": {"phase": "Running"}}
    path = f"{place.root}/pods"
    assert place.own("PATCH", f"{path}/p1/status", status, Content_Type=MERGE).status == 200
    assert place.own("PATCH", f"{path}/p2/status", status, Content_Type=MERGE).status == 403
    labels = {"metadata": {"labels": {"app": "trusted"}}}
    assert place.own("PATCH", f"{path}/p1/status", labels, Content_Type=MERGE).status == 403
    assert place.own("PATCH", f"{path}/p1", labels, Content_Type=MERGE).status == 403
    assert place.own("POST", f"{path}/p2/eviction", {"metadata": {"name": "p2"}}).status == 403
    assert place.own("DELETE", f"{path}/p2").status == 403
    assert place.own("DELETE", path).status == 403


def test_mirror_pod_opens_nothing(place: Place) -> None:
    notes = {"kubernetes.io/config.mirror": "x"}
    pod = _pod("m", "node-1")
    pod["metadata"]["annotations"] = notes
    pod["spec"]["volumes"][0]["secret"]["secretName"] = "s-p2"
    answer = place.own("POST", f"{place.root}/pods", pod)
    assert answer.status == 403
    assert "a mirror pod may not reference service accounts" in answer.message
    plain = {"nodeName": "node-1", "containers": [{"name": "c", "image": "i"}]}
    uid = place.own("GET", "/api/v1/nodes/node-1").body["metadata"]["uid"]
    itself = {"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": uid, "controller": True}
    mirror: dict[str, Any] = {"metadata": {"name": "m", "annotations": notes}, "spec": plain}
    for owners, cause in (
        ([], "with an owner reference set to itself"),
        ([{**itself, "kind": "Pod"}], "with an owner reference set to itself"),
        ([{**itself, "uid": "u"}], f"node node-1 UID mismatch: expected u got {uid}"),
        ([{**itself, "controller": False}], "with a controller owner reference set to itself"),
        ([{**itself, "blockOwnerDeletion": True}], "must not set blockOwnerDeletion"),
        ([itself, {**itself, "controller": False}], "with a single owner reference set to itself"),
    ):
        mirror["metadata"]["ownerReferences"] = owners
        answer = place.own("POST", f"{place.root}/pods", mirror)
        assert (answer.status, cause in answer.message) == (403, True), answer.message
    mirror["metadata"]["ownerReferences"] = [itself]
    claims = [{"name": "r", "resourceClaimName": "r"}]
    claiming = {**mirror, "spec": {**plain, "resourceClaims": claims}}
    assert place.own("POST", f"{place.root}/pods", claiming).status == 403
    assert place.own("POST", f"{place.root}/pods", mirror).status == 201
    assert place.own("DELETE", f"{place.root}/pods/m", {"gracePeriodSeconds": 0}).status == 200


def test_tokens_are_for_the_pods_of_the_node(api: Any, place: Place) -> None:
    def ask(account: str, pod: str, **changes: Any) -> int:
        uid = api("GET", f"{place.root}/pods/{pod}").body["metadata"]["uid"]
        ref = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid} | changes
        path = f"{place.root}/serviceaccounts/{account}/token"
        return int(place.own("POST", path, {"spec": {"boundObjectRef": ref}}).status)

    assert ask("a-p1", "p1") == 201
    assert ask("a-p2", "p2") == 403
    assert ask("default", "p1") == 403
    assert ask("a-p1", "p1", uid="") == 403
    assert ask("a-p1", "p2") == 403
    unbound = place.own("POST", f"{place.root}/serviceaccounts/a-p1/token", {"spec": {}})
    assert unbound.status == 403


def test_tokens_are_for_the_audiences_of_the_pod(api: Any, place: Place) -> None:
    sources = [{"serviceAccountToken": {"audience": "vault", "path": "t"}}]
    pod = {
        "metadata": {"name": "p3"},
        "spec": {
            "nodeName": "node-1",
            "serviceAccountName": "a-p1",
            "automountServiceAccountToken": False,
            "volumes": [{"name": "t", "projected": {"sources": sources}}],
            "containers": [{"name": "c", "image": "i"}],
        },
    }
    uid = api("POST", f"{place.root}/pods", pod).body["metadata"]["uid"]
    ref = {"apiVersion": "v1", "kind": "Pod", "name": "p3", "uid": uid}
    path = f"{place.root}/serviceaccounts/a-p1/token"

    def ask(*audiences: str) -> Any:
        spec = {"boundObjectRef": ref, "audiences": list(audiences)}
        return place.own("POST", path, {"spec": spec})

    assert ask("vault").status == 201
    for audience in ((), ("",), ("bank",)):
        answer = ask(*audience)
        assert answer.status == 403
        assert answer.message == (
            f'serviceaccounts "a-p1" is forbidden: audience "{"".join(audience)}" not found in pod '
            "spec volume, system:node:node-1 is not authorized to request tokens for this audience"
        )
    assert ask("vault", "bank").message.endswith("node may only request 0 or 1 audiences")
    assert api("DELETE", f"{place.root}/pods/p3", {"gracePeriodSeconds": 0}).status == 200


def test_name_in_the_group_is_needed_too(api: Any, server: Any, place: Place) -> None:
    for stem, name, groups in (
        ("group", "jane", ("system:nodes",)),
        ("name", "system:node:node-1", ()),
    ):
        caller = type(api)(server, server.authority.issue(stem, name, groups))
        assert caller("GET", f"{place.root}/secrets/s-p1").status == 403


@pytest.fixture
def component(api: Any, server: Any) -> Callable[[str], Any]:
    return lambda name: type(api)(server, server.authority.issue("component", name))


def test_components_have_their_own_rights_only(component: Any, space: str) -> None:
    secrets, pods = f"/api/v1/namespaces/{space}/secrets", f"/api/v1/namespaces/{space}/pods"
    proxy, dns = component("system:kube-proxy"), component("system:dns")
    for caller in (proxy, dns):
        assert caller("GET", "/api/v1/services").status == 200
        assert caller("GET", "/apis/discovery.k8s.io/v1/endpointslices").status == 200
        assert caller("GET", "/api/v1/nodes").status == 200
        assert caller("GET", secrets).status == 403
        assert caller("DELETE", "/api/v1/nodes/x").status == 403
    scheduler = component("system:kube-scheduler")
    assert scheduler("GET", "/api/v1/pods").status == 200
    assert (
        scheduler(
            "POST", f"{pods}/none/binding", {"metadata": {"name": "none"}, "target": {"name": "n"}}
        ).status
        == 404
    )
    assert scheduler("GET", secrets).status == 403
    assert scheduler("POST", pods, {"metadata": {"name": "x"}}).status == 403
    controllers = component("system:kube-controller-manager")
    assert controllers("GET", "/apis/apps/v1/deployments").status == 200
    assert (
        controllers(
            "POST", f"{pods}/none/binding", {"metadata": {"name": "none"}, "target": {"name": "n"}}
        ).status
        == 403
    )
    role = {"metadata": {"name": "all"}, "rules": []}
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    assert controllers("POST", roles, role).status == 403
