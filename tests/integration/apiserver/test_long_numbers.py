"""Texts of thousands of digits where numbers stand: Python's own reader refuses those by itself."""

from typing import Any

import pytest

LONG = "9" * 5000
LABELS = {"app": "a"}
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": LABELS},
    "spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Always"},
}
SELECTOR = {"matchLabels": LABELS}
APPS = "/apis/apps/v1/namespaces"
JOB = {"template": {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}}


def rolling(**said: Any) -> Any:
    strategy = {"type": "RollingUpdate", "rollingUpdate": said}
    return {"spec": {"selector": SELECTOR, "template": TEMPLATE, "strategy": strategy}}


@pytest.mark.parametrize(
    ("root", "plural", "body"),
    [
        (APPS, "deployments", rolling(maxUnavailable=LONG, maxSurge=0)),
        (APPS, "deployments", rolling(maxUnavailable="9" * 11 + "%", maxSurge=0)),
        (
            "/apis/batch/v1/namespaces",
            "cronjobs",
            {"spec": {"schedule": f"{LONG} * * * *", "jobTemplate": {"spec": JOB}}},
        ),
        (
            "/apis/networking.k8s.io/v1/namespaces",
            "networkpolicies",
            {
                "spec": {
                    "podSelector": {},
                    "ingress": [{"from": [{"ipBlock": {"cidr": f"10.0.0.0/{LONG}"}}]}],
                }
            },
        ),
    ],
    ids=["deployment", "more than all", "cronjob", "networkpolicy"],
)
def test_a_field_with_a_long_number_is_invalid(
    api: Any, space: str, root: str, plural: str, body: Any
) -> None:
    answer = api("POST", f"{root}/{space}/{plural}", {**body, "metadata": {"name": "long"}})
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")


def test_a_daemon_set_counts_its_templates_from_one(api: Any, space: str) -> None:
    note = "deprecated.daemonset.template.generation"
    body = {
        "metadata": {"name": "long", "annotations": {note: LONG}},
        "spec": {"selector": SELECTOR, "template": TEMPLATE},
    }
    made = api("POST", f"{APPS}/{space}/daemonsets", body)
    assert (made.status, made.body["metadata"]["annotations"][note]) == (201, "1")


@pytest.mark.parametrize(
    ("part", "fault"),
    [
        ("", f'resourceVersion: Invalid value: "{LONG}": strconv.ParseUint: '),
        ("/log", "strconv.ParseInt: "),
        ("/portforward", "cannot convert to []int32: strconv.ParseUint: "),
    ],
    ids=["get", "log", "portforward"],
)
def test_a_query_with_a_long_number_is_out_of_range(
    api: Any, space: str, part: str, fault: str
) -> None:
    field = {"": "resourceVersion", "/log": "tailLines", "/portforward": "ports"}[part]
    api("POST", f"/api/v1/namespaces/{space}/serviceaccounts", {"metadata": {"name": "default"}})
    pods = f"/api/v1/namespaces/{space}/pods"
    assert api("POST", pods, {**TEMPLATE, "metadata": {"name": "p"}}).status == 201
    answer = api("GET", f"{pods}/p{part}?{field}={LONG}")
    assert answer.message == f'{fault}parsing "{LONG}": value out of range'
