"""Admission webhooks: matched, asked, obeyed; and what happens when they fail."""

import base64
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.integration.apiserver.webhook_server import (
    Configured,
    Webhook,
    allow,
    deny,
    patch,
)

_LABELS = {"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}}


def test_a_mutating_webhook_changes_the_object(hook: Webhook, configured: Configured) -> None:
    hook.answers["m"] = lambda request: {**patch(request, _LABELS)}
    assert configured("mutating", hook.config("m")).status == 201
    made = configured.create()
    assert made.status == 201, made.body
    assert made.body["metadata"]["labels"] == {"seen": "yes"}
    path, asked = hook.asked[0]
    assert path == "/m?timeout=10s"
    assert (asked["operation"], asked["name"], asked["dryRun"]) == ("CREATE", "m", False)
    assert asked["kind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert asked["resource"] == asked["requestResource"]
    assert asked["oldObject"] is None
    assert asked["userInfo"]["username"] == "kubernetes-admin"
    assert "uid" not in asked["object"]["metadata"]
    assert asked["options"]["kind"] == "CreateOptions"


def test_a_denial_has_the_webhooks_words(hook: Webhook, configured: Configured) -> None:
    answers: list[dict[str, Any]] = [
        {"message": "not today", "code": 403, "reason": "Forbidden"},
        {"reason": "Because"},
        {},
        {"message": "gone", "code": 410},
    ]
    said = iter(answers)
    hook.answers["v"] = lambda request: deny(request, **next(said))
    assert configured("validating", hook.config("v")).status == 201
    found = [configured.create() for _ in range(4)]
    denied = 'admission webhook "v.example.com" denied the request'
    assert [(each.status, each.message) for each in found] == [
        (403, f"{denied}: not today"),
        (400, f"{denied}: Because"),
        (400, f"{denied} without explanation"),
        (410, f"{denied}: gone"),
    ]
    assert [each.body.get("reason") for each in found] == ["Forbidden", "Because", None, None]


def test_a_validating_webhook_sees_the_finished_object(
    hook: Webhook, configured: Configured, api: Any
) -> None:
    hook.answers["v"] = lambda request: allow(request, warnings=["mind the gap"])
    configured("validating", hook.config("v"))
    made = configured.create()
    assert made.headers["Warning"] == '299 - "mind the gap"'
    assert hook.asked[0][1]["object"]["metadata"]["uid"] == made.body["metadata"]["uid"]
    changed = api(
        "PATCH",
        f"{configured.maps}/m",
        {"data": {"a": "b"}},
        Content_Type="application/merge-patch+json",
    )
    assert changed.status == 200
    asked = hook.asked[1][1]
    assert (asked["operation"], asked["object"]["data"]) == ("UPDATE", {"a": "b"})
    assert "data" not in asked["oldObject"]


def test_a_webhook_that_cannot_be_reached(hook: Webhook, configured: Configured) -> None:
    nobody = {"url": "https://127.0.0.1:1/x", "caBundle": hook.ca}
    configured("validating", hook.config("v", clientConfig=nobody))
    refused = configured.create()
    assert refused.status == 500
    assert refused.message == (
        'Internal error occurred: failed calling webhook "v.example.com": failed to call webhook: '
        'Post "https://127.0.0.1:1/x?timeout=10s": dial tcp 127.0.0.1:1: connect: '
        "connection refused"
    )
    configured.clean()
    configured(
        "validating", hook.config("v", clientConfig=nobody, failurePolicy="Ignore"), name="b"
    )
    assert configured.create().status == 201


def test_a_webhook_that_is_slow(hook: Webhook, configured: Configured) -> None:
    def slow(request: dict[str, Any]) -> Any:
        time.sleep(1.5)
        return allow(request)

    hook.answers["v"] = slow
    configured("validating", hook.config("v", timeoutSeconds=1))
    refused = configured.create()
    assert refused.message == (
        'Internal error occurred: failed calling webhook "v.example.com": failed to call webhook: '
        f'Post "{hook.url}/v?timeout=1s": context deadline exceeded'
    )


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda request: {"response": {"uid": "x", "allowed": True}}, "expected response.uid="),
        (lambda request: {}, "received invalid webhook response: webhook response was absent"),
        (lambda request: (404, b"no"), "the server could not find the requested resource"),
        (
            lambda request: allow(request, patch="W10="),
            "validating webhook may not return response.patch",
        ),
    ],
)
def test_an_answer_that_is_none(
    hook: Webhook, configured: Configured, answer: Any, words: str
) -> None:
    hook.answers["v"] = answer
    configured("validating", hook.config("v"))
    refused = configured.create()
    assert refused.status == 500
    assert words in refused.message


def test_who_is_asked(hook: Webhook, configured: Configured) -> None:
    chosen = {"matchLabels": {"ask": "me"}}
    configured(
        "validating",
        hook.config("labelled", objectSelector=chosen),
        hook.config("elsewhere", namespaceSelector={"matchLabels": {"no": "such"}}),
        hook.config("deletes", rules=[{**hook.config("x")["rules"][0], "operations": ["DELETE"]}]),
        hook.config(
            "all",
            rules=[
                {
                    "apiGroups": ["*"],
                    "apiVersions": ["*"],
                    "operations": ["*"],
                    "resources": ["*/*"],
                    "scope": "Namespaced",
                }
            ],
        ),
    )
    configured.create("a")
    configured.create("b", labels={"ask": "me"})
    assert sorted(path.partition("?")[0] for path, _ in hook.asked) == ["/all", "/all", "/labelled"]


def test_webhooks_that_want_to_are_asked_again(hook: Webhook, configured: Configured) -> None:
    first = {"op": "add", "path": "/data", "value": {"first": "1"}}
    second = {"op": "add", "path": "/data/second", "value": "2"}

    def once(operation: dict[str, Any], field: str) -> Any:
        def answer(request: dict[str, Any]) -> Any:
            known = field in (request["object"].get("data") or {})
            return allow(request) if known else patch(request, operation)

        return answer

    hook.answers["a"], hook.answers["b"] = once(first, "first"), once(second, "second")
    configured("mutating", hook.config("a", reinvocationPolicy="IfNeeded"), hook.config("b"))
    made = configured.create()
    assert made.body["data"] == {"first": "1", "second": "2"}
    assert [path.partition("?")[0] for path, _ in hook.asked] == ["/a", "/b", "/a"]


def test_a_patch_is_completed_and_checked(
    hook: Webhook, configured: Configured, api: Any, space: str
) -> None:
    container = {"name": "side", "image": "s"}
    hook.answers["p"] = lambda request: patch(
        request, {"op": "add", "path": "/spec/containers/-", "value": container}
    )
    rule = {**hook.config("p")["rules"][0], "resources": ["pods"], "operations": ["CREATE"]}
    configured("mutating", hook.config("p", rules=[rule]))
    spec = {"containers": [{"name": "c", "image": "i"}]}
    made = api(
        "POST", f"/api/v1/namespaces/{space}/pods", {"metadata": {"name": "p"}, "spec": spec}
    )
    assert made.status == 201, made.body
    side = made.body["spec"]["containers"][1]
    assert side["terminationMessagePath"] == "/dev/termination-log"
    # The second round gave the new container the token, from the volume that was there.
    assert side["volumeMounts"][0]["mountPath"].endswith("/serviceaccount")
    assert len(made.body["spec"]["volumes"]) == 1
    container["image"] = 5  # type: ignore[assignment]
    broken = api(
        "POST", f"/api/v1/namespaces/{space}/pods", {"metadata": {"name": "q"}, "spec": spec}
    )
    assert broken.status == 500


def test_configurations_are_validated(hook: Webhook, configured: Configured) -> None:
    refused = configured(
        "validating",
        {
            "name": "short",
            "clientConfig": {"url": "http://x/y?z"},
            "rules": [
                {
                    "operations": ["CREATE", "*"],
                    "apiGroups": [],
                    "apiVersions": ["v1"],
                    "resources": ["*/*", "pods"],
                }
            ],
            "sideEffects": "Some",
            "timeoutSeconds": 31,
            "admissionReviewVersions": ["v7"],
        },
    )
    assert refused.status == 422
    fields = [cause["field"] for cause in refused.body["details"]["causes"]]
    assert fields == [
        "webhooks[0].name",
        "webhooks[0].rules[0].operations",
        "webhooks[0].rules[0].apiGroups",
        "webhooks[0].rules[0].resources",
        "webhooks[0].sideEffects",
        "webhooks[0].timeoutSeconds",
        "webhooks[0].clientConfig.url",
        "webhooks[0].clientConfig.url",
        "webhooks[0].admissionReviewVersions",
    ]


_MISFITS: list[tuple[str, dict[str, Any], str]] = [
    (
        "text",
        {"allowed": "false"},
        "string into Go struct field AdmissionResponse.response.allowed of type bool",
    ),
    (
        "warning",
        {"warnings": 5},
        "number into Go struct field AdmissionResponse.response.warnings of type []string",
    ),
    (
        "status",
        {"status": "no"},
        "string into Go struct field AdmissionResponse.response.status of type v1.Status",
    ),
    (
        "code",
        {"status": {"code": "x"}},
        "string into Go struct field Status.response.status.code of type int32",
    ),
    (
        "half",
        {"status": {"code": 403.5}},
        "number 403.5 into Go struct field Status.response.status.code of type int32",
    ),
    (
        "details",
        {"status": {"details": "x"}},
        "string into Go struct field Status.response.status.details of type v1.StatusDetails",
    ),
    (
        "patch",
        {"patch": 5},
        "number into Go struct field AdmissionResponse.response.patch of type []uint8",
    ),
]


@pytest.mark.parametrize(
    ("fields", "words"), [each[1:] for each in _MISFITS], ids=[each[0] for each in _MISFITS]
)
def test_an_answer_of_other_types_is_the_webhooks_failure(
    hook: Webhook, configured: Configured, fields: dict[str, Any], words: str
) -> None:
    hook.answers["v"] = lambda request: (
        deny(request) | {"response": {**deny(request)["response"], **fields}}
    )
    configured("validating", hook.config("v"))
    refused = configured.create()
    assert refused.status == 500
    called = 'failed calling webhook "v.example.com": failed to call webhook'
    assert refused.message == f"Internal error occurred: {called}: json: cannot unmarshal {words}"
    configured.clean()
    configured("validating", hook.config("v", failurePolicy="Ignore"), name="b")
    assert configured.create().status == 201


def test_a_webhook_does_not_move_an_object_to_another_namespace(
    hook: Webhook, configured: Configured, api: Any
) -> None:
    move = {"op": "replace", "path": "/metadata/namespace", "value": "kube-system"}
    hook.answers["m"] = lambda request: patch(request, move)
    configured("mutating", hook.config("m"))
    refused = configured.create()
    said = "the namespace of the provided object does not match the namespace sent on the request"
    assert (refused.status, refused.message) == (400, said)
    assert api("GET", "/api/v1/namespaces/kube-system/configmaps/m").status == 404


def test_a_webhook_does_not_begin_the_end_of_a_new_object(
    hook: Webhook, configured: Configured
) -> None:
    begin = {"op": "add", "path": "/metadata/deletionTimestamp", "value": "2020-01-01T00:00:00Z"}
    hook.answers["m"] = lambda request: patch(request, begin)
    configured("mutating", hook.config("m"))
    made = configured.create()
    assert made.status == 201
    assert "deletionTimestamp" not in made.body["metadata"]


def test_large_writes_that_a_slow_webhook_holds_up_leave_room_to_others(
    hook: Webhook, configured: Configured, api: Any, server: Any
) -> None:
    answer, held = threading.Event(), threading.Semaphore(0)

    def slow(request: dict[str, Any]) -> Any:
        held.release()
        answer.wait(30)
        return allow(request)

    hook.answers["m"] = slow
    configured("mutating", hook.config("m", timeoutSeconds=30))
    data = {"a": "x" * 1_000_000}

    def write(number: int) -> int:
        body = {"metadata": {"name": f"m-{number}"}, "data": data}
        user = {"Impersonate_User": f"tenant-{number}", "Impersonate_Group": "system:masters"}
        return int(api("POST", configured.maps, body, **user).status)

    with ThreadPoolExecutor(60) as pool:
        writes = [pool.submit(write, number) for number in range(60)]
        for _ in range(8):
            held.acquire(timeout=30)
        body = {"metadata": {"name": "shop"}, "data": data}
        user = {"Impersonate_User": "bystander", "Impersonate_Group": "system:masters"}
        made = api("POST", "/api/v1/namespaces/default/configmaps", body, **user)
        still_held = not any(each.done() for each in writes)
        answer.set()
        assert [each.result() for each in writes] == [201] * 60
    assert made.status == 201
    assert still_held
    api("DELETE", "/api/v1/namespaces/default/configmaps/shop")


def test_names_in_any_letters_may_stand_between_certificates(
    hook: Webhook, configured: Configured
) -> None:
    bundle = base64.b64decode(hook.ca)
    named = base64.b64encode("# Főtanúsítvány\n".encode() + bundle).decode()
    nothing = base64.b64encode("é".encode()).decode()
    for number, (bundle_text, asked) in enumerate(((named, 1), (nothing, 0))):
        client = {"url": f"{hook.url}/v", "caBundle": bundle_text}
        entry = hook.config("v", clientConfig=client, failurePolicy="Ignore")
        configured("validating", entry, name=f"b{number}")
        hook.asked.clear()
        assert configured.create(f"m{number}").status == 201
        assert len(hook.asked) == asked
        configured.clean()
