"""Server-side apply: owners, conflicts, and fields that their owner leaves out."""

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

APPLY = "application/apply-patch+yaml"


@pytest.fixture
def deployments(space: str) -> str:
    return f"/apis/apps/v1/namespaces/{space}/deployments"


def deployment(replicas: int | None = 2, image: str = "i:1", **labels: str) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "selector": {"matchLabels": {"app": "d"}},
        "template": {
            "metadata": {"labels": {"app": "d"}},
            "spec": {"containers": [{"name": "c", "image": image}]},
        },
    }
    if replicas is not None:
        spec["replicas"] = replicas
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", **({"labels": labels} if labels else {})},
        "spec": spec,
    }


def test_apply_creates_and_records_its_owner(api: Any, deployments: str) -> None:
    made = api("PATCH", f"{deployments}/d?fieldManager=me", deployment(x="1"), Content_Type=APPLY)
    assert made.status == 201, made.body
    (entry,) = made.body["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("me", "Apply")
    containers = entry["fieldsV1"]["f:spec"]["f:template"]["f:spec"]["f:containers"]
    assert containers == {'k:{"name":"c"}': {".": {}, "f:name": {}, "f:image": {}}}
    assert entry["fieldsV1"]["f:metadata"] == {"f:labels": {"f:x": {}}}


def test_same_apply_again_changes_nothing(api: Any, deployments: str) -> None:
    path = f"{deployments}/d?fieldManager=me"
    first = api("PATCH", path, deployment(), Content_Type=APPLY).body
    again = api("PATCH", path, deployment(), Content_Type=APPLY)
    assert again.status == 200
    assert again.body["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_field_left_out_by_its_only_owner_goes(api: Any, deployments: str) -> None:
    path = f"{deployments}/d?fieldManager=me"
    api("PATCH", path, deployment(x="1", y="2"), Content_Type=APPLY)
    after = api("PATCH", path, deployment(x="1"), Content_Type=APPLY).body
    assert after["metadata"]["labels"] == {"x": "1"}


def test_other_managers_value_conflicts_until_forced(api: Any, deployments: str) -> None:
    path = f"{deployments}/d?fieldManager="
    api("PATCH", f"{path}one", deployment(replicas=2), Content_Type=APPLY)
    refused = api("PATCH", f"{path}two", deployment(replicas=3), Content_Type=APPLY)
    assert (refused.status, refused.body["reason"]) == (409, "Conflict")
    assert refused.message == 'Apply failed with 1 conflict: conflict with "one": .spec.replicas'
    forced = api("PATCH", f"{path}two&force=true", deployment(replicas=3), Content_Type=APPLY)
    assert forced.body["spec"]["replicas"] == 3
    back = api("PATCH", f"{path}one", deployment(replicas=None), Content_Type=APPLY)
    assert back.status == 200
    assert back.body["spec"]["replicas"] == 3


def test_plain_update_takes_ownership_of_what_it_changes(api: Any, deployments: str) -> None:
    path = f"{deployments}/d?fieldManager="
    made = api("PATCH", f"{path}me", deployment(), Content_Type=APPLY).body
    made["spec"]["replicas"] = 7
    api("PUT", f"{path}scaler", made)
    refused = api("PATCH", f"{path}me", deployment(), Content_Type=APPLY)
    assert refused.status == 409
    assert 'conflict with "scaler" using apps/v1: .spec.replicas' in refused.message


def test_apply_without_manager_is_invalid(api: Any, deployments: str) -> None:
    answer = api("PATCH", f"{deployments}/d", deployment(), Content_Type=APPLY)
    assert answer.status == 422
    assert "fieldManager: Required value: is required for apply patch" in answer.message


def test_kubectl_applies_server_side(any_kubectl: "Callable[..., str]", namespace: str) -> None:
    text = """
apiVersion: v1
kind: Service
metadata: {name: s}
spec: {selector: {a: b}, ports: [{port: 80}]}
"""
    apply = ("apply", "--server-side", "-n", namespace, "-f", "-")
    assert "serverside-applied" in any_kubectl(*apply, stdin=text)
    more = text.replace("[{port: 80}]", "[{port: 80, name: a}, {port: 81, name: b}]")
    assert "serverside-applied" in any_kubectl(*apply, stdin=more)
    shown = any_kubectl("get", "svc", "s", "-n", namespace, "-o", "jsonpath={.spec.ports[*].port}")
    assert shown == "80 81"
    any_kubectl("delete", "svc", "s", "-n", namespace)


def test_kubectl_diff_sees_the_difference(any_kubectl: Any, namespace: str) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {k: one}\n"
    any_kubectl("apply", "-n", namespace, "-f", "-", stdin=text)
    done = any_kubectl.run("diff", "-n", namespace, "-f", "-", stdin=text.replace("one", "two"))
    assert done.returncode == 1, done.stderr
    assert "+  k: two" in done.stdout
    any_kubectl("delete", "configmap", "c", "-n", namespace)


def test_owners_go_before_a_write_fails_but_not_of_what_is_applied(api: Any, space: str) -> None:
    """Without owners an applier could not take back what it gave."""
    root = f"/api/v1/namespaces/{space}/configmaps"
    large: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap"}
    large["data"] = {f"{number:050}": "" for number in range(15_000)}
    made = api("POST", root, {**large, "metadata": {"name": "made"}})
    assert made.status == 201
    assert "managedFields" not in made.body["metadata"]
    wanted = {**large, "metadata": {"name": "applied"}}
    query = f"{root}/applied?fieldManager=a"
    refused = api("PATCH", query, wanted, Content_Type=APPLY)
    assert refused.status == 500
    assert refused.message == "etcdserver: request is too large"
