"""Kinds for policies and devices, refused for their form; expressions only upstream compiles."""

from typing import Any

from tests.upstream.cases.flow import rows
from tests.upstream.objects import WEBHOOK

REQUEST = {"name": "r", "exactly": {"deviceClassName": "c"}}


def policy(**spec: Any) -> Any:
    return {"spec": spec}


def devices(**claim: Any) -> Any:
    return {"spec": {"devices": claim}}


def exactly(**request: Any) -> Any:
    return devices(requests=[{"name": "r", "exactly": {"deviceClassName": "c", **request}}])


CASES = [
    rows(
        "ValidatingAdmissionPolicy",
        {},
        {"spec": ...},
        policy(validations=[]),
        policy(validations=...),
        policy(validations=[{"expression": ""}]),
        policy(validations=[{"expression": "object.spec.x > 1"}]),
        policy(validations=[{"expression": "true", "message": ""}]),
        policy(validations=[{"expression": "true", "message": "a\nb"}]),
        policy(validations=[{"expression": "true", "reason": "X"}]),
        policy(validations=[{"expression": "true", "reason": "Forbidden"}]),
        policy(validations=[{"expression": "true", "messageExpression": ""}]),
        policy(matchConstraints=...),
        policy(matchConstraints={}),
        policy(matchConstraints={"resourceRules": []}),
        policy(failurePolicy="X"),
        policy(failurePolicy="Ignore"),
        policy(paramKind={}),
        policy(paramKind={"apiVersion": "v1", "kind": ""}),
        policy(paramKind={"apiVersion": "a/b/c", "kind": "X"}),
        policy(paramKind={"apiVersion": "v1", "kind": "ConfigMap"}),
        policy(auditAnnotations=[{"key": "", "valueExpression": ""}]),
        policy(auditAnnotations=[{"key": "a", "valueExpression": "'x'"}]),
        policy(auditAnnotations=[{"key": "a b", "valueExpression": "'x'"}]),
        policy(matchConditions=[{"name": "", "expression": ""}]),
        policy(
            matchConditions=[
                {"name": "a", "expression": "true"},
                {"name": "a", "expression": "true"},
            ]
        ),
        policy(variables=[{"name": "", "expression": ""}]),
        policy(variables=[{"name": "a", "expression": "1"}, {"name": "a", "expression": "1"}]),
        policy(variables=[{"name": "a-b", "expression": "1"}]),
        policy(matchConstraints={"resourceRules": WEBHOOK["rules"], "matchPolicy": "X"}),
        policy(
            matchConstraints={
                "resourceRules": [
                    {
                        "operations": ["X"],
                        "apiGroups": [],
                        "apiVersions": [""],
                        "resources": ["a/b", "*"],
                        "scope": "Y",
                        "resourceNames": ["A_", "a", "a"],
                    }
                ]
            }
        ),
    ),
    rows(
        "ValidatingAdmissionPolicyBinding",
        {},
        {"spec": ...},
        {"spec": {"policyName": ""}},
        {"spec": {"policyName": "A_"}},
        {"spec": {"validationActions": []}},
        {"spec": {"validationActions": ["X"]}},
        {"spec": {"validationActions": ["Deny", "Warn"]}},
        {"spec": {"validationActions": ["Deny", "Deny"]}},
        {"spec": {"validationActions": ["Audit", "Warn"]}},
        {"spec": {"paramRef": {}}},
        {"spec": {"paramRef": {"name": "a", "selector": {}}}},
        {"spec": {"paramRef": {"name": "a"}}},
        {"spec": {"paramRef": {"name": "a", "parameterNotFoundAction": "X"}}},
        {"spec": {"paramRef": {"name": "a", "parameterNotFoundAction": "Allow"}}},
        {
            "spec": {
                "paramRef": {
                    "selector": {"matchLabels": {"a b": "c"}},
                    "parameterNotFoundAction": "Allow",
                }
            }
        },
        {"spec": {"matchResources": {}}},
        {"spec": {"matchResources": {"matchPolicy": "X"}}},
        {"spec": {"matchResources": {"resourceRules": [{}]}}},
    ),
    rows(
        "ResourceClaim",
        {},
        {"spec": ...},
        {"spec": {"devices": ...}},
        devices(requests=[]),
        devices(requests=[{}]),
        devices(requests=[{"name": "A_", "exactly": {}}]),
        devices(requests=[REQUEST, REQUEST]),
        devices(requests=[{"name": "r"}]),
        devices(
            requests=[
                {
                    "name": "r",
                    "exactly": {"deviceClassName": "c"},
                    "firstAvailable": [{"name": "s", "deviceClassName": "c"}],
                }
            ]
        ),
        exactly(allocationMode="X"),
        exactly(allocationMode="All"),
        exactly(allocationMode="All", count=1),
        exactly(count=0),
        exactly(count=-1),
        exactly(count=2),
        exactly(deviceClassName=""),
        exactly(deviceClassName="A_"),
        exactly(selectors=[{}]),
        exactly(selectors=[{"cel": {"expression": "true"}}]),
        devices(requests=[{"name": "r", "firstAvailable": []}]),
        devices(
            requests=[{"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "c"}]}]
        ),
        devices(requests=[{"name": "r", "firstAvailable": [{"name": "", "deviceClassName": ""}]}]),
        devices(requests=[REQUEST], constraints=[{}]),
        devices(requests=[REQUEST], constraints=[{"requests": ["x"], "matchAttribute": "a"}]),
        devices(requests=[REQUEST], constraints=[{"requests": ["r"], "matchAttribute": "a/b"}]),
        devices(requests=[REQUEST], config=[{}]),
        devices(requests=[REQUEST], config=[{"opaque": {"driver": "", "parameters": None}}]),
        devices(
            requests=[REQUEST],
            config=[{"requests": ["x"], "opaque": {"driver": "d", "parameters": {"a": 1}}}],
        ),
        devices(requests=[REQUEST] * 33),
    ),
    rows(
        "ResourceClaimTemplate",
        {},
        {"spec": ...},
        {"spec": {"spec": {"devices": {"requests": [{}]}}}},
        {"spec": {"metadata": {"labels": {"a b": "c"}, "name": "x"}}},
    ),
    rows(
        "DeviceClass",
        {},
        {"spec": ...},
        {"spec": {"selectors": [{}]}},
        {"spec": {"selectors": [{"cel": {"expression": "true"}}]}},
        {"spec": {"config": [{}]}},
        {"spec": {"config": [{"opaque": {"driver": "d", "parameters": {}}}]}},
        {"spec": {"extendedResourceName": "a"}},
    ),
]
