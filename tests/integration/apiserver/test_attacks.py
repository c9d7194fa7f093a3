"""Requests made to break things: they are refused, and the server goes on."""

import base64
import http.client
import socket
import ssl
import time
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.integration.apiserver.conftest import private_pem

from winkube.apiserver.auth.token import Binding, TokenAuthority
from winkube.base.clock import SystemClock

JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
GROUP = "rbac.authorization.k8s.io"
REVIEWS = "authorization.k8s.io/v1"


@pytest.fixture
def anonymous(server: Any) -> Any:
    """Call without a certificate; headers as given."""
    context = ssl.create_default_context(cafile=str(server.authority.file))
    host, port = server.url.removeprefix("https://").split(":")

    def call(method: str, path: str, **headers: str) -> int:
        connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=10)
        try:
            connection.request(
                method, path, headers={k.replace("_", "-"): v for k, v in headers.items()}
            )
            return connection.getresponse().status
        finally:
            connection.close()

    return call


@pytest.mark.parametrize(
    "path",
    ["/version", "/metrics", "/api", "/apis", "/openapi/v2", "/api/v1/secrets", "/livez/x", "/"],
)
def test_nobody_without_credentials_gets_past_health(anonymous: Any, path: str) -> None:
    for method in ("GET", "POST", "DELETE", "OPTIONS", "TRACE"):
        assert anonymous(method, path) == 401, method


@pytest.mark.parametrize(
    "header",
    [
        "Bearer ",
        "Bearer x.y.z",
        "Bearer \xff\xfe",
        "Basic YWRtaW46YWRtaW4=",
        "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.",
        "nonsense",
    ],
)
def test_bad_credentials_are_no_credentials(anonymous: Any, header: str) -> None:
    assert anonymous("GET", "/api/v1/pods", Authorization=header) == 401


def test_token_of_another_issuer_or_after_its_time_is_refused(
    api: Any, anonymous: Any, server: Any, space: str
) -> None:
    account = api("GET", f"/api/v1/namespaces/{space}/serviceaccounts/default").body["metadata"]

    own = (server.folder / "sa.key").read_bytes()
    foreign = private_pem(rsa.generate_private_key(65537, 2048))
    binding = Binding(space, ("default", account["uid"]))
    issuer = "https://kubernetes.default.svc.cluster.local"
    for key, life, expected in ((own, 600, 403), (own, -61, 401), (foreign, 600, 401)):
        authority = TokenAuthority(key, issuer, SystemClock(), lambda *_: None)
        token, _ = authority.issue(binding, [], life)
        header = f"Bearer {token}"
        assert anonymous("GET", "/api/v1/pods", Authorization=header) == expected


def test_certificate_of_another_authority_is_refused(server: Any, api: Any, tmp_path: Any) -> None:
    authority = type(server.authority)(tmp_path)
    files = authority.issue("evil", "kubernetes-admin", ("system:masters",))
    with pytest.raises((ssl.SSLError, ConnectionError, http.client.HTTPException)):
        type(api)(server, files)("GET", "/api/v1/pods")


def _grant(api: Any, name: str, rules: list[dict[str, Any]], user: str) -> None:
    base = f"/apis/{GROUP}/v1"
    api("POST", f"{base}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "User", "name": user}],
    }
    api("POST", f"{base}/clusterrolebindings", binding)


def test_every_part_of_an_impersonated_identity_needs_its_right(api: Any, server: Any) -> None:
    rules = [
        {
            "apiGroups": [""],
            "resources": ["users"],
            "verbs": ["impersonate"],
            "resourceNames": ["jane"],
        }
    ]
    _grant(api, "acts-as-jane", rules, "bob")
    bob = type(api)(server, server.authority.issue("bob", "bob"))
    who = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    said = bob("POST", who, {}, Impersonate_User="jane")
    assert said.body["status"]["userInfo"]["username"] == "jane"
    for headers in (
        {"Impersonate_User": "kubernetes-admin"},
        {"Impersonate_User": "jane", "Impersonate_Group": "system:masters"},
        {"Impersonate_User": "jane", "Impersonate_Group": "system:authenticated-admins"},
        {"Impersonate_User": "jane", "Impersonate_Uid": "1"},
        {"Impersonate_User": "jane", "Impersonate_Extra_scopes": "all"},
        {"Impersonate_User": "system:serviceaccount:kube-system:default"},
        {"Impersonate_User": "system:node:win-1", "Impersonate_Group": "system:nodes"},
    ):
        assert bob("POST", who, {}, **headers).status == 403, headers
    # Without a user the wish cannot be met, and the caller's own rights are not what was asked.
    assert api("POST", who, {}, Impersonate_Group="nobody").status == 500


def test_impersonated_account_has_the_groups_of_accounts(api: Any, space: str) -> None:
    who = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    name = f"system:serviceaccount:{space}:default"
    groups = api("POST", who, {}, Impersonate_User=name).body["status"]["userInfo"]["groups"]
    assert groups == [
        "system:serviceaccounts",
        f"system:serviceaccounts:{space}",
        "system:authenticated",
    ]
    said = api("POST", who, {}, Impersonate_User="system:anonymous")
    assert said.status == 403  # anonymous has no rights at all, not even to ask this


@pytest.mark.parametrize(
    "segment", ["..", ".", "%2e%2e", "%2e", "a%2fb", "a%00b", "%2f", "%25", "~"]
)
def test_no_path_segment_leads_elsewhere(api: Any, space: str, segment: str) -> None:
    for path in (
        f"/api/v1/namespaces/{segment}/secrets",
        f"/api/v1/namespaces/{segment}/secrets/x",
        f"/api/v1/namespaces/{space}/secrets/{segment}",
        f"/api/v1/namespaces/{space}/{segment}/x",
        f"/api/v1/namespaces/{space}/pods/x/{segment}",
        f"/api/v1/nodes/{segment}",
        f"/api/{segment}/pods",
        f"/apis/{segment}/v1/pods",
    ):
        for method in ("GET", "DELETE", "PUT", "PATCH"):
            answer = api(method, path, {} if method[0] == "P" else None)
            empty_list = answer.status == 200 and answer.body.get("items") == []
            assert answer.status in (400, 404, 405, 415) or empty_list, (method, path, answer.body)


def test_bodies_that_are_too_much_are_refused(api: Any, server: Any, space: str) -> None:
    path = f"/api/v1/namespaces/{space}/configmaps"
    assert api("POST", path, b'{"a":"' + b"x" * (10 << 20) + b'"}').status == 413
    deep = b'{"metadata":{"name":"d"},"data":' + b'{"a":' * 5000 + b"1" + b"}" * 5001
    assert api("POST", path, deep).status == 400
    assert api("POST", path, b"[" * 100_000).status == 400
    host, port = server.url.removeprefix("https://").split(":")
    connection = http.client.HTTPSConnection(
        host, int(port), context=server.ssl_context(), timeout=20
    )
    try:
        chunks = (b"x" * 65536 for _ in range(100))
        headers = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
        connection.request("POST", path, chunks, headers, encode_chunked=True)
        assert connection.getresponse().status == 413
    except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
        pass  # it did not wait for the rest
    finally:
        connection.close()
    assert api("GET", "/livez").status == 200


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x]\nb: [*a, *a]",
        "data: " + "[" * 3000,
        "data: {a: " + "9" * 100_000 + "}",
        "data: {a: " + ":".join(["59"] * 100_000) + "}",
        "data: {a: !!binary aGk=}",
        "data: {a: !!set {x, y}}",
        "data: {a: !!python/object/apply:os.getcwd []}",
        "data: {? [a, b] : c}",
    ],
    ids=["aliases", "depth", "digits", "sexagesimal", "binary", "set", "python", "complex-key"],
)
def test_yaml_bombs_are_bad_requests_at_once(api: Any, space: str, text: str) -> None:
    path = f"/api/v1/namespaces/{space}/configmaps"
    body = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: y}}\n{text}\n".encode()
    start = time.monotonic()
    answer = api("POST", path, body, Content_Type="application/yaml")
    assert answer.status == 400, answer.body
    assert time.monotonic() - start < 5


def _tag(number: int, wire: int) -> bytes:
    return bytes([number << 3 | wire])


def _block(number: int, data: bytes) -> bytes:
    return _tag(number, 2) + bytes([len(data)]) + data


def test_protobuf_number_in_place_of_text_allocates_nothing(api: Any, space: str) -> None:
    huge = b"\x80\x80\x80\x80\x20"  # 8 GiB as a varint
    meta = _block(1, b"v1") + _block(2, b"ConfigMap")
    for envelope in (
        _block(1, _tag(1, 0) + huge) + _block(2, b""),
        _block(1, meta) + _block(2, _block(2, _tag(1, 0) + huge)),
        _block(1, meta) + _block(2, _block(1, _tag(1, 0) + huge)),
        _block(1, meta) + _tag(2, 0) + huge,
        _block(1, b"\x0a\x02\xff\xfe"),
    ):
        path = f"/api/v1/namespaces/{space}/configmaps"
        answer = api("POST", path, b"k8s\x00" + envelope, Content_Type=PROTOBUF)
        assert answer.status == 400, answer.body


def test_json_patch_does_not_grow_without_end(api: Any, space: str) -> None:
    path = f"/api/v1/namespaces/{space}/configmaps"
    api("POST", path, {"metadata": {"name": "grow"}, "data": {"a": "x" * 1000}})
    ops = [{"op": "copy", "from": "/data", "path": f"/metadata/x{n}"} for n in range(2)]
    ops += [{"op": "copy", "from": "/metadata", "path": f"/metadata/y{n}"} for n in range(40)]
    answer = api("PATCH", f"{path}/grow", ops, Content_Type=JSON_PATCH)
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")


@pytest.mark.parametrize(
    "query",
    [
        "resourceVersion=" + "9" * 5000,
        "resourceVersion=-1",
        "resourceVersion=%C2%B2",
        "limit=" + "9" * 5000,
        "continue=" + "A" * 4000,
        "continue=bnVsbA",
        "continue=eyJydiI6IngiLCJzdGFydCI6MX0",
        "labelSelector=%28%28%28%28",
        "labelSelector=a+in+%28" + "x," * 2000 + "%29",
        "fieldSelector=spec.secret%3Dx",
        "timeoutSeconds=" + "9" * 400 + "&watch=1&resourceVersion=%C2%B2",
    ],
)
def test_queries_made_up_are_bad_requests(api: Any, space: str, query: str) -> None:
    answer = api("GET", f"/api/v1/namespaces/{space}/pods?{query}")
    if answer.status == 500:  # upstream's answer to a watch from a version that is none
        assert answer.message.startswith("resourceVersion: Invalid value: ")
    else:
        assert answer.status in (200, 400, 422), answer.body


def test_continue_token_does_not_leave_its_namespace(api: Any, space: str) -> None:
    api("POST", f"/api/v1/namespaces/{space}/secrets", {"metadata": {"name": "mine"}})
    for start in ("../", "", "/registry/secrets/", "\0"):
        token = base64.urlsafe_b64encode(
            orjson.dumps({"v": "meta.k8s.io/v1", "rv": -1, "start": start})
        )
        path = f"/api/v1/namespaces/{space}/secrets?continue={token.rstrip(b'=').decode()}"
        answer = api("GET", path)
        if answer.status == 400:  # upstream refuses a start that leads elsewhere, and an empty one
            assert answer.message.startswith("invalid continue token: ")
        else:
            assert {item["metadata"]["namespace"] for item in answer.body["items"]} <= {space}


@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254", "0.0.0.0", "::1", "localhost"])
def test_pod_and_service_proxies_reach_no_address_of_the_server(
    api: Any, space: str, address: str
) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(0.2)
        port = listener.getsockname()[1]
        root = f"/api/v1/namespaces/{space}"
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        api("POST", f"{root}/pods", pod)
        status = {"status": {"podIP": address, "podIPs": [{"ip": address}]}}
        api("PATCH", f"{root}/pods/p/status", status, Content_Type=MERGE)
        assert api("GET", f"{root}/pods/p:{port}/proxy/x").status == 400
        service = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
        assert api("POST", f"{root}/services", service).status == 201
        slice_ = {
            "metadata": {"name": "s", "labels": {"kubernetes.io/service-name": "s"}},
            "addressType": "FQDN" if address == "localhost" else "IPv4",
            "endpoints": [{"addresses": [address]}],
            "ports": [{"port": port}],
        }
        slices = f"/apis/discovery.k8s.io/v1/namespaces/{space}/endpointslices"
        made = api("POST", slices, slice_).status
        answer = api("GET", f"{root}/services/s/proxy/x")
        assert answer.status == (400 if made == 201 else 404), answer.body
        with pytest.raises(TimeoutError):
            listener.accept()


def test_editors_do_not_steer_services(api: Any) -> None:
    role = api("GET", f"/apis/{GROUP}/v1/clusterroles/edit").body
    for rule in role["rules"]:
        if {"create", "update", "patch"} & set(rule["verbs"]):
            assert not {"endpoints", "endpointslices"} & set(rule["resources"])


@pytest.mark.parametrize(
    "spec",
    [
        {"expirationSeconds": "soon"},
        {"audiences": "x"},
        {"audiences": [1]},
        {"boundObjectRef": ["x"]},
        "x",
    ],
)
def test_token_request_of_the_wrong_types_is_a_bad_request(api: Any, space: str, spec: Any) -> None:
    path = f"/api/v1/namespaces/{space}/serviceaccounts/default/token"
    assert api("POST", path, {"spec": spec}).status == 400


def test_bytes_that_are_no_text_in_the_path_are_answered(server: Any, api: Any) -> None:
    host, port = server.url.removeprefix("https://").split(":")
    for path in (b"/api/v1/namespaces/\xff\xfe/pods/\xff", b"/\xff"):
        with (
            socket.create_connection((host, int(port)), timeout=10) as plain,
            server.ssl_context().wrap_socket(plain, server_hostname=host) as connection,
        ):
            connection.sendall(
                b"GET " + path + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            )
            assert connection.recv(100).split()[1] == b"400"
    assert api("GET", "/livez").status == 200


@pytest.mark.parametrize(
    ("part", "body"),
    [
        ("binding", []),
        ("binding", {"metadata": [1], "target": {"name": "n"}}),
        ("binding", {"metadata": {"annotations": {"a": 1}}, "target": {"name": "n"}}),
        ("binding", {"target": "n"}),
        ("binding", {"metadata": {"name": "p"}, "target": {"name": 5}}),
        ("eviction", [1]),
        ("eviction", {"deleteOptions": [1]}),
        ("eviction", {"metadata": {"name": "p"}, "deleteOptions": {"dryRun": "All"}}),
    ],
)
def test_parts_of_a_pod_of_the_wrong_types_are_bad_requests(
    api: Any, space: str, part: str, body: Any
) -> None:
    pods = f"/api/v1/namespaces/{space}/pods"
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    api("POST", pods, pod)
    assert api("POST", f"{pods}/p/{part}", body).status == 400


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("authentication.k8s.io/v1/tokenreviews", {"token": 5}),
        ("authentication.k8s.io/v1/tokenreviews", {"token": "x", "audiences": "y"}),
        (f"{REVIEWS}/subjectaccessreviews", {"user": "a", "extra": {"a": 5}}),
        (f"{REVIEWS}/subjectaccessreviews", {"user": "a", "groups": "system:masters"}),
        (f"{REVIEWS}/selfsubjectaccessreviews", {"resourceAttributes": {"verb": 5}}),
        (f"{REVIEWS}/selfsubjectrulesreviews", {"namespace": ["a"]}),
    ],
)
def test_questions_of_the_wrong_types_are_bad_requests(api: Any, kind: str, spec: Any) -> None:
    spec = {"resourceAttributes": {"verb": "get", "resource": "pods"}, **spec}
    assert api("POST", f"/apis/{kind}", {"spec": spec}).status == 400


def test_connections_of_the_unknown_are_not_kept(server: Any) -> None:
    host, port = server.url.removeprefix("https://").split(":")
    context = ssl.create_default_context(cafile=str(server.authority.file))
    for path in ("/livez", "/api/v1/pods"):
        connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            assert answer.headers["Connection"] == "close"
        finally:
            connection.close()


def test_names_that_somebody_made_up_are_not_kept_in_metrics(api: Any, space: str) -> None:
    root = f"/api/v1/namespaces/{space}/pods/p"
    for number in range(3):
        assert api("GET", f"{root}/made-up-{number}").status == 404
    shown = api("GET", "/metrics").body
    assert b"made-up" not in shown
    assert b'resource="pods"' in shown
