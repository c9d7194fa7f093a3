"""Tokens of accounts kept in Secrets, and roles made of others."""

from typing import Any

from tests.upstream.scenario import Scenario
from tests.upstream.steps import change, gone, look, make, pause, remove, until

Json = Any
TOKEN = "kubernetes.io/service-account-token"


def account(name: str) -> Json:
    return {"kind": "ServiceAccount", "metadata": {"name": name}}


def secret(name: str, owner: str) -> Json:
    notes = {"kubernetes.io/service-account.name": owner}
    return {"kind": "Secret", "type": TOKEN, "metadata": {"name": name, "annotations": notes}}


def role(name: str, *verbs: str, **labels: str) -> Json:
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": list(verbs)}
    return {"kind": "ClusterRole", "metadata": {"name": name, "labels": labels}, "rules": [rule]}


def sum_of(**labels: str) -> Json:
    return {
        "kind": "ClusterRole",
        "metadata": {"name": "{ns}-sum"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": labels}]},
        "rules": [],
    }


def rules(number: int) -> Any:
    return until("ClusterRole", "{ns}-sum", lambda o: len(o["rules"] or []) == number)


SCENARIOS = [
    Scenario(
        "token in a Secret",
        [
            make(account("robot"), secret("key", "robot")),
            until("Secret", "key", lambda o: set(o["data"]) == {"ca.crt", "namespace", "token"}),
            look("made"),
            change("Secret", "key", {"data": {"namespace": None, "ca.crt": "eA=="}}),
            until("Secret", "key", lambda o: set(o["data"]) == {"ca.crt", "namespace", "token"}),
            look("mended"),
            remove("ServiceAccount", "robot"),
            gone("Secret", "key"),
        ],
        also=("ServiceAccount",),
        ignore=("Secret.data",),
    ),
    Scenario(
        "token of nobody",
        [make(secret("key", "nobody")), gone("Secret", "key")],
    ),
    Scenario(
        "token of an account that comes again",
        [
            make(account("robot"), secret("key", "robot")),
            until("Secret", "key", lambda o: "token" in o["data"]),
            remove("ServiceAccount", "robot"),
            make(account("robot")),
            gone("Secret", "key"),
            pause(1),
        ],
        also=("ServiceAccount",),
    ),
    Scenario(
        "role made of others",
        [
            make(role("{ns}-b", "get", part="{ns}"), role("{ns}-a", "list", part="{ns}")),
            make(sum_of(part="{ns}")),
            rules(2),
            look("two"),
            make(role("{ns}-c", "get", part="{ns}")),
            pause(1),
            look("twice the same"),
            remove("ClusterRole", "{ns}-a"),
            rules(1),
        ],
        also=("ClusterRole",),
    ),
]
