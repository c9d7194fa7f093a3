"""Bad input gets a clear answer, and nothing else happens."""

import http.client
from typing import Any

import pytest
from aiohttp import web


@pytest.fixture
def maps(space: str) -> str:
    return f"/api/v1/namespaces/{space}/configmaps"


@pytest.mark.parametrize(
    "body",
    [b"{", b"", b"[]", b'"x"', b"\xff\xfe", b'{"metadata":{"name":1}}', b'{"metadata":[]}'],
)
def test_malformed_body_is_a_bad_request(api: Any, maps: str, body: bytes) -> None:
    answer = api("POST", maps, body)
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest"), answer.body


def test_deep_nesting_is_a_bad_request(api: Any, maps: str) -> None:
    for depth in (300, 3000, 100_000):
        assert api("POST", maps, b'{"a":' * depth + b"1" + b"}" * depth).status == 400
    text = b"[" * 5000 + b"]" * 5000
    assert api("POST", maps, text, Content_Type="application/yaml").status == 400


def test_yaml_that_grows_by_its_aliases_is_refused(api: Any, maps: str) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    answer = api("POST", maps, "\n".join(lines).encode(), Content_Type="application/yaml")
    assert answer.status == 400
    assert "aliasing" in answer.message


def test_large_body_is_refused(server: Any, maps: str) -> None:
    host, port = server.url.removeprefix("https://").split(":")
    connection = http.client.HTTPSConnection(
        host, int(port), context=server.ssl_context(), timeout=10
    )
    connection.putrequest("POST", maps)
    connection.putheader("Content-Length", str(10 * 1024 * 1024))
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status == 413
    assert b"RequestEntityTooLarge" in answer.read()
    connection.close()


@pytest.mark.parametrize("name", ["..%2f..%2fx", "%2e%2e", "."])
def test_name_that_leaves_its_folder_is_refused(api: Any, maps: str, name: str) -> None:
    assert api("GET", f"{maps}/{name}").status in (400, 404)
    assert api("DELETE", f"{maps}/{name}").status in (400, 404)


@pytest.mark.parametrize("name", ["../x", "a/b", "A", "a_b", ".", ""])
def test_create_under_a_wrong_name_is_invalid(api: Any, maps: str, name: str) -> None:
    answer = api("POST", maps, {"metadata": {"name": name}})
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")


def test_unknown_resources_are_not_found(api: Any) -> None:
    for path in ("/apis/x.y/v1/z", "/nothing", "/apis//", "//apis"):
        answer = api("GET", path)
        assert (answer.status, answer.body) == (404, b"404 page not found\n")
    for path in ("/api/v1/nothing", "/apis/apps/v2/deployments"):
        answer = api("GET", path)
        assert (answer.status, answer.body["reason"]) == (404, "NotFound")


def test_method_without_meaning_is_not_allowed(api: Any) -> None:
    assert api("POST", "/api/v1/pods", {}).status == 405
    assert api("PUT", "/api/v1/namespaces", {}).status == 405
    assert api("DELETE", "/api/v1/namespaces").status == 405


def test_unknown_field_warns_by_default_and_is_dropped(api: Any, maps: str) -> None:
    answer = api("POST", maps, {"metadata": {"name": "w"}, "dat": {}})
    assert answer.status == 201
    assert answer.headers["Warning"] == '299 - "unknown field \\"dat\\""'
    assert "dat" not in answer.body


def test_duplicate_field_is_refused_when_strict(api: Any, maps: str) -> None:
    text = b'{"metadata": {"name": "a", "name": "b"}}'
    answer = api("POST", f"{maps}?fieldValidation=Strict", text)
    assert answer.status == 400
    assert 'duplicate field "metadata.name"' in answer.message


def test_kind_must_fit_the_path(api: Any, maps: str) -> None:
    answer = api("POST", maps, {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "a"}})
    assert answer.status == 400
    assert "cannot be handled as a ConfigMap" in answer.message


def test_without_credentials_only_health_answers(server: Any) -> None:
    import ssl

    host, port = server.url.removeprefix("https://").split(":")
    context = ssl.create_default_context(cafile=str(server.authority.file))
    for path, expected in (("/livez", 200), ("/version", 401), ("/api/v1/pods", 401), ("/x", 401)):
        connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=10)
        connection.request("GET", path)
        assert connection.getresponse().status == expected, path
        connection.close()


def test_stranger_is_forbidden_with_upstreams_sentence(server: Any) -> None:
    import ssl

    files = server.authority.issue("stranger", "jane")
    host, port = server.url.removeprefix("https://").split(":")
    context = ssl.create_default_context(cafile=str(server.authority.file))
    context.load_cert_chain(*files)
    connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=10)
    connection.request("GET", "/api/v1/namespaces/default/pods")
    answer = connection.getresponse()
    assert answer.status == 403
    assert (
        rb"pods is forbidden: User \"jane\" cannot list resource \"pods\" in API group \"\" "
        rb"in the namespace \"default\"" in answer.read()
    )
    connection.close()


def test_unacceptable_media_type_is_said(api: Any) -> None:
    answer = api("GET", "/api/v1/namespaces", Accept="application/vnd.kubernetes.protobuf")
    assert (answer.status, answer.body["reason"]) == (406, "NotAcceptable")


def test_health_pages_and_metrics(api: Any) -> None:
    assert api("GET", "/readyz").body == b"ok"
    assert b"readyz check passed" in api("GET", "/readyz?verbose").body
    assert b"apiserver_request_total" in api("GET", "/metrics").body


def test_aggregated_discovery_lists_every_group(api: Any) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    groups = api("GET", "/apis", Accept=accept)
    assert groups.headers["Content-Type"] == accept
    listed = {item["metadata"]["name"] for item in groups.body["items"]}
    assert {"apps", "batch", "rbac.authorization.k8s.io"} <= listed
    core = api("GET", "/api", Accept=accept).body["items"][0]["versions"][0]
    assert "pods" in {entry["resource"] for entry in core["resources"]}


def test_a_long_refusal_is_sent_bit_by_bit(
    api: Any, space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    send = web.StreamResponse.write

    async def write(response: web.StreamResponse, data: Any) -> None:
        sizes.append(len(data))
        await send(response, data)

    monkeypatch.setattr(web.StreamResponse, "write", write)
    bad = {f" {number}": "x" for number in range(2_000)}
    path = f"/api/v1/namespaces/{space}/configmaps"
    answer = api("POST", path, {"metadata": {"name": "bad"}, "data": bad})
    assert (answer.status, len(answer.body["details"]["causes"])) == (422, 2_000)
    assert len(sizes) > 1
    assert max(sizes) <= 256 * 1024
