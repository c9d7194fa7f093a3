import base64
import json
from typing import Any

import pytest

from winkube.rules.admission.answer import Opinion
from winkube.webhook.errors import ReviewError, TooLargeError
from winkube.webhook.review import MOST_BYTES, parse_review, to_answer

REQUEST: dict[str, Any] = {
    "uid": "u-1",
    "operation": "CREATE",
    "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
    "userInfo": {"username": "jane"},
    "object": {"kind": "Deployment"},
}


def review(**request: Any) -> bytes:
    document = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    return json.dumps({**document, "request": {**REQUEST, **request}}).encode()


def nested(levels: int) -> bytes:
    """As text: no encoder of ours goes that deep."""
    inside = '{"a":' * levels + "1" + "}" * levels
    return review(object="HERE").replace(b'"HERE"', inside.encode())


def test_a_question_is_read() -> None:
    found = parse_review(review(oldObject={"kind": "Deployment"}, subResource="scale"))
    assert found.uid == "u-1"
    assert found.question is not None
    assert found.question.resource == "deployments.apps"
    assert found.question.user == "jane"
    assert found.question.subresource == "scale"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "no JSON"),
        (b"\xff\xfe\x00", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[]", "no AdmissionReview"),
        (b'{"kind":"Pod","apiVersion":"v1"}', "no AdmissionReview"),
        (review().replace(b"io/v1", b"io/v1beta1"), "not of admission.k8s.io/v1"),
        (b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}', "no request"),
        (review(uid=""), "no uid"),
        (review(uid=5), "no uid"),
        (review(uid="u" * 10_000), "no uid"),
        (review(operation="DROP"), "operation"),
        (review(operation=None), "operation"),
        (review(resource="pods"), "no resource"),
        (nested(500), "levels deep"),
    ],
)
def test_what_is_no_question_is_refused(body: bytes, words: str) -> None:
    with pytest.raises(ReviewError, match=words):
        parse_review(body)


def test_what_is_too_long_is_refused() -> None:
    with pytest.raises(TooLargeError):
        parse_review(b" " * (MOST_BYTES + 1))


@pytest.mark.parametrize("missing", [None, "text", 5, []])
def test_a_request_without_an_object_asks_nothing(missing: Any) -> None:
    assert parse_review(review(object=missing)).question is None


def test_an_answer_has_the_uid_the_warnings_and_the_patch() -> None:
    asked = parse_review(review())
    add = {"op": "add", "path": "/spec/os", "value": {"name": "windows"}}
    said = json.loads(to_answer(asked, Opinion(("one", "two")), [add]))
    assert said["apiVersion"] == "admission.k8s.io/v1"
    assert (
        said["response"].pop("patch")
        == base64.b64encode(json.dumps([add], separators=(",", ":")).encode()).decode()
    )
    assert said["response"] == {
        "uid": "u-1",
        "allowed": True,
        "warnings": ["one", "two"],
        "patchType": "JSONPatch",
    }


def test_a_refusal_is_a_status() -> None:
    said = json.loads(to_answer(parse_review(review()), Opinion((), "no")))["response"]
    assert said["allowed"] is False
    assert said["status"]["code"] == 403
    assert said["status"]["message"] == "no"
