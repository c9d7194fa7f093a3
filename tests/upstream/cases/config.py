"""ConfigMaps, Secrets and ServiceAccounts."""

import base64
import json
from typing import Any

from tests.upstream.exchange import MERGE, Case, Step
from tests.upstream.variants import DRY, merged

MAPS = "/api/v1/namespaces/{ns}/configmaps"
SECRETS = "/api/v1/namespaces/{ns}/secrets"
ACCOUNTS = "/api/v1/namespaces/{ns}/serviceaccounts"
MEGA = 1024 * 1024
DOCKER = json.dumps({"auths": {}})


def _posts(name: str, path: str, *rows: dict[str, Any]) -> Case:
    bodies = [merged({"metadata": {"name": "a"}}, row) for row in rows]
    return Case(name, [Step("POST", f"{path}{DRY}", body) for body in bodies], managed=False)


def _changes(name: str, path: str, base: dict[str, Any], *patches: Any) -> Case:
    steps = [Step("POST", path, merged({"metadata": {"name": "a"}}, base))]
    steps += [Step("PATCH", f"{path}/a{DRY}", patch, MERGE) for patch in patches]
    return Case(name, [*steps, Step("DELETE", f"{path}/a")], managed=False)


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _typed(kind: str, **data: str) -> dict[str, Any]:
    return {"type": kind, "stringData": {key.replace("_", "."): data[key] for key in data}}


CASES = [
    _posts(
        "config maps",
        MAPS,
        {},
        {"metadata": {"name": "A_"}},
        {"data": {"a": "b"}},
        {"data": {"": "b"}},
        {"data": {"a b": "b"}},
        {"data": {"..": "b"}},
        {"data": {".": "b"}},
        {"data": {"..a": "b"}},
        {"data": {"k" * 254: "b"}},
        {"data": {"a": ""}},
        {"data": {"a": 5}},
        {"data": {"a": "b"}, "binaryData": {"a": "AA=="}},
        {"binaryData": {"a": "AA=="}},
        {"binaryData": {"a b": "AA=="}},
        {"binaryData": {"a": "not base 64"}},
        {"data": {"a": "x" * (MEGA + 1)}},
        {"data": {"a": "x" * MEGA}},
        {"immutable": True, "data": {"a": "b"}},
        {"immutable": False},
    ),
    _changes(
        "changes of a config map",
        MAPS,
        {"data": {"a": "b"}},
        {"data": {"a": "c"}},
        {"data": None},
        {"data": {"a b": "c"}},
        {"immutable": True},
        {"binaryData": {"b": "AA=="}},
    ),
    _changes(
        "changes of an immutable config map",
        MAPS,
        {"data": {"a": "b"}, "immutable": True},
        {"data": {"a": "c"}},
        {"data": {"a": "b"}},
        {"immutable": False},
        {"immutable": None},
        {"binaryData": {"b": "AA=="}},
        {"metadata": {"labels": {"a": "b"}}},
    ),
    _posts(
        "secrets",
        SECRETS,
        {},
        {"metadata": {"name": "A_"}},
        {"data": {"a": "Yg=="}},
        {"data": {"a": "not base 64"}},
        {"data": {"a b": "Yg=="}},
        {"data": {"": "Yg=="}},
        {"stringData": {"a": "b"}},
        {"stringData": {"a": "b"}, "data": {"a": "Yw==", "c": "ZA=="}},
        {"stringData": {"a b": "b"}},
        {"data": {"a": _b64("x" * (MEGA + 1))}},
        {"type": "my/own", "data": {"a": "Yg=="}},
        {"type": ""},
        {"immutable": True},
    ),
    _posts(
        "types of secrets",
        SECRETS,
        _typed("kubernetes.io/tls"),
        _typed("kubernetes.io/tls", tls_crt="a"),
        _typed("kubernetes.io/tls", tls_crt="", tls_key=""),
        _typed("kubernetes.io/tls", tls_crt="a", tls_key="b"),
        _typed("kubernetes.io/dockercfg"),
        _typed("kubernetes.io/dockercfg", _dockercfg="{}"),
        _typed("kubernetes.io/dockercfg", _dockercfg="x"),
        _typed("kubernetes.io/dockerconfigjson"),
        _typed("kubernetes.io/dockerconfigjson", _dockerconfigjson=DOCKER),
        _typed("kubernetes.io/dockerconfigjson", _dockerconfigjson="x"),
        _typed("kubernetes.io/dockerconfigjson", _dockerconfigjson="[]"),
        _typed("kubernetes.io/dockerconfigjson", _dockerconfigjson=""),
        _typed("kubernetes.io/basic-auth"),
        _typed("kubernetes.io/basic-auth", username="a"),
        _typed("kubernetes.io/basic-auth", password="a"),
        _typed("kubernetes.io/ssh-auth"),
        {"type": "kubernetes.io/ssh-auth", "stringData": {"ssh-privatekey": "a"}},
        {"type": "kubernetes.io/ssh-auth", "stringData": {"ssh-privatekey": ""}},
        _typed("kubernetes.io/service-account-token"),
        {
            **_typed("kubernetes.io/service-account-token"),
            "metadata": {"annotations": {"kubernetes.io/service-account.name": ""}},
        },
        {
            **_typed("kubernetes.io/service-account-token"),
            "metadata": {"annotations": {"kubernetes.io/service-account.name": "x"}},
        },
        _typed("bootstrap.kubernetes.io/token", x="y"),
    ),
    _changes(
        "changes of a secret",
        SECRETS,
        {"data": {"a": "Yg=="}},
        {"data": {"a": "Yw=="}},
        {"stringData": {"b": "c"}},
        {"type": "other"},
        {"type": ""},
        {"type": None},
        {"immutable": True},
    ),
    _changes(
        "changes of an immutable secret",
        SECRETS,
        {"data": {"a": "Yg=="}, "immutable": True},
        {"data": {"a": "Yw=="}},
        {"stringData": {"a": "b"}},
        {"immutable": False},
        {"immutable": None},
        {"metadata": {"labels": {"a": "b"}}},
    ),
    _posts(
        "service accounts",
        ACCOUNTS,
        {},
        {"metadata": {"name": "A_"}},
        {"secrets": [{"name": "a"}]},
        {"secrets": [{}]},
        {"imagePullSecrets": [{"name": "a"}, {}]},
        {"automountServiceAccountToken": False},
        {"metadata": {"annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}},
    ),
    _changes(
        "changes of a service account",
        ACCOUNTS,
        {},
        {"secrets": [{"name": "b"}]},
        {"imagePullSecrets": [{"name": "b"}]},
        {"automountServiceAccountToken": True},
        {"metadata": {"annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}},
    ),
]
