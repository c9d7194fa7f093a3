"""Who may do what: roles, bindings, service accounts, nodes."""

import http.client
import ssl
from typing import Any

import orjson
import pytest

GROUP = "rbac.authorization.k8s.io"
JSON = "application/json"
_MEDIA = {"PATCH": "application/merge-patch+json"}


@pytest.fixture
def account(api: Any, server: Any, space: str) -> Any:
    """Call as the namespace's default service account."""
    path = f"/api/v1/namespaces/{space}/serviceaccounts/default/token"
    token = api("POST", path, {"spec": {}}).body["status"]["token"]
    context = ssl.create_default_context(cafile=str(server.authority.file))
    host, port = server.url.removeprefix("https://").split(":")

    def call(method: str, path: str, body: Any = None) -> tuple[int, Any]:
        connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=10)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": _MEDIA.get(method, JSON)}
        connection.request(method, path, orjson.dumps(body) if body else None, headers)
        answer = connection.getresponse()
        data = orjson.loads(answer.read())
        connection.close()
        return answer.status, data

    return call


def test_account_has_only_the_rights_bound_to_it(api: Any, account: Any, space: str) -> None:
    pods = f"/api/v1/namespaces/{space}/pods"
    status, body = account("GET", pods)
    assert status == 403
    assert body["message"] == (
        f'pods is forbidden: User "system:serviceaccount:{space}:default" cannot list resource '
        f'"pods" in API group "" in the namespace "{space}"'
    )
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": space}
    binding = {
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "view"},
        "subjects": [subject],
    }
    bindings = f"/apis/{GROUP}/v1/namespaces/{space}/rolebindings"
    assert api("POST", bindings, binding).status == 201
    assert account("GET", pods)[0] == 200
    assert account("GET", f"/api/v1/namespaces/{space}/secrets")[0] == 403
    assert account("GET", "/api/v1/pods")[0] == 403
    assert account("GET", "/apis")[0] == 200


def test_nobody_grants_what_they_do_not_have(api: Any, account: Any, space: str) -> None:
    roles = f"/apis/{GROUP}/v1/namespaces/{space}/roles"
    rules = [
        {"apiGroups": [GROUP], "resources": ["roles"], "verbs": ["create"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
    ]
    api("POST", roles, {"metadata": {"name": "maker"}, "rules": rules})
    binding = {
        "metadata": {"name": "maker"},
        "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "maker"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": space}],
    }
    api("POST", f"/apis/{GROUP}/v1/namespaces/{space}/rolebindings", binding)
    same = {"metadata": {"name": "same"}, "rules": [rules[1]]}
    assert account("POST", roles, same)[0] == 201
    more = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    status, body = account("POST", roles, {"metadata": {"name": "more"}, "rules": [more]})
    assert status == 403
    assert "attempting to grant RBAC permissions not currently held" in body["message"]


def test_access_review_answers_for_another_user(api: Any, space: str) -> None:
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    wanted = {"verb": "get", "resource": "pods", "namespace": space}
    review = {"spec": {"user": "jane", "resourceAttributes": wanted}}
    assert api("POST", path, review).body["status"]["allowed"] is False
    review["spec"]["groups"] = ["system:masters"]
    assert api("POST", path, review).body["status"]["allowed"] is True


def test_the_rights_of_an_administrator_are_listed_once(api: Any, space: str) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    status = api("POST", path, {"spec": {"namespace": space}}).body["status"]
    everything = [rule for rule in status["resourceRules"] if rule["resources"] == ["*"]]
    anywhere = [rule for rule in status["nonResourceRules"] if rule["nonResourceURLs"] == ["*"]]
    assert (len(everything), len(anywhere)) == (1, 1)


def test_admin_may_act_as_another(kubectl: Any, namespace: str) -> None:
    said = kubectl("get", "pods", "-n", namespace, "--as", "jane", check=False)
    assert 'User "jane" cannot list resource "pods"' in said
    assert kubectl("auth", "can-i", "get", "pods", "--as", "jane", check=False).startswith("no")


def test_kubelet_changes_only_its_own_node(api: Any, server: Any, space: str) -> None:
    files = server.authority.issue("node", "system:node:own", ("system:nodes",))
    kubelet = type(api)(server, files)
    node = {"metadata": {"name": "own"}}
    assert kubelet("POST", "/api/v1/nodes", node).status == 201
    assert kubelet("POST", "/api/v1/nodes", {"metadata": {"name": "other"}}).status == 403
    pods = f"/api/v1/namespaces/{space}/pods"
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    api("POST", pods, pod)
    assert kubelet("DELETE", f"{pods}/p").status == 403
    api("DELETE", "/api/v1/nodes/own")


def test_an_access_review_is_no_table(api: Any) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    review = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    assert api("POST", path, review, Accept=table).status == 406
    assert api("POST", path, review, Accept=f"{table},application/json").status == 201


@pytest.fixture
def role_maker(api: Any, account: Any, space: str) -> Any:
    """An account that may write all roles and bindings, and look at pods."""
    rules = [
        {
            "apiGroups": [GROUP],
            "resources": ["clusterroles", "clusterrolebindings", "roles"],
            "verbs": ["create", "update", "patch"],
        },
        {
            "apiGroups": [GROUP],
            "resources": ["clusterroles"],
            "resourceNames": [f"named-{space}"],
            "verbs": ["escalate"],
        },
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
    ]
    roles, bindings = (f"/apis/{GROUP}/v1/cluster{part}" for part in ("roles", "rolebindings"))
    assert (
        api("POST", roles, {"metadata": {"name": f"maker-{space}"}, "rules": rules}).status == 201
    )
    binding = {
        "metadata": {"name": f"maker-{space}"},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": f"maker-{space}"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": space}],
    }
    assert api("POST", bindings, binding).status == 201
    yield account
    api("DELETE", f"{bindings}/maker-{space}")
    api("DELETE", f"{roles}/maker-{space}")


def test_roles_that_gather_others_take_every_right(role_maker: Any, api: Any, space: str) -> None:
    roles = f"/apis/{GROUP}/v1/clusterroles"
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    gathering = {"clusterRoleSelectors": [{"matchLabels": {"kubernetes.io/bootstrapping": "x"}}]}
    plain = {"metadata": {"name": f"plain-{space}"}, "rules": [rule]}
    assert role_maker("POST", roles, plain)[0] == 201
    for method, path, role in (
        ("POST", roles, {"metadata": {"name": f"all-{space}"}, "aggregationRule": gathering}),
        ("PUT", f"{roles}/plain-{space}", {**plain, "aggregationRule": gathering}),
    ):
        status, body = role_maker(method, path, role)
        assert status == 403
        assert body["message"].endswith(
            "must have cluster-admin privileges to use the aggregationRule"
        )
    assert api("DELETE", f"{roles}/plain-{space}").status == 200


def test_labels_make_a_role_part_of_another(role_maker: Any) -> None:
    label = "rbac.authorization.k8s.io/aggregate-to-view"
    status, body = role_maker(
        "PATCH",
        f"/apis/{GROUP}/v1/clusterroles/cluster-admin",
        {"metadata": {"labels": {label: "true"}}},
    )
    assert status == 403
    assert body["message"].endswith(
        'permissions not currently held:\n{APIGroups:["*"], Resources:["*"], Verbs:["*"]}\n'
        '{NonResourceURLs:["*"], Verbs:["*"]}'
    )


def test_a_right_to_one_name_makes_nothing(role_maker: Any, space: str) -> None:
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    role = {"metadata": {"name": f"named-{space}"}, "rules": [rule]}
    assert role_maker("POST", f"/apis/{GROUP}/v1/clusterroles", role)[0] == 403
