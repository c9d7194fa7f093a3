"""The objects that make a cluster ask this webhook: configurations, and a Deployment to answer.

A namespace's label chooses the path that is called, so the server need not know namespaces.
"""

import base64
from dataclasses import dataclass
from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.rules.admission.mode import LABEL, MODES, OFF, SPARED, WARN
from winkube.webhook.deployment import workload
from winkube.webhook.server import MUTATE, VALIDATE

_DOMAIN: Final = "windows.winkube.dev"
_NAME_LABEL: Final = "kubernetes.io/metadata.name"
_WRITES: Final = ("CREATE", "UPDATE")
# The same as is_person and _is_owned of rules/admission, for the API server.
_CONDITIONS: Final[JsonObject] = {
    "matchConditions": [
        {
            "name": "somebody-reads-warnings",
            "expression": (
                "!request.userInfo.username.startsWith('system:')"
                " || request.userInfo.username == 'system:admin'"
                " || (request.userInfo.username.startsWith('system:serviceaccount:')"
                " && !request.userInfo.username.startsWith('system:serviceaccount:kube-system:'))"
            ),
        },
        {
            "name": "nobody-owns-it",
            "expression": (
                "!has(object.metadata.ownerReferences)"
                " || !object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller)"
            ),
        },
    ]
}


@dataclass(frozen=True, slots=True)
class Pem:
    """What the server shows, and by whom it is trusted."""

    ca: bytes
    cert: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class ManifestConfig:
    """``url`` is where a server outside of the cluster answers; empty deploys one inside."""

    pem: Pem
    url: str = ""
    image: str = ""
    name: str = "winkube-webhook"
    namespace: str = "winkube-webhook"
    failure_policy: str = "Ignore"
    timeout_seconds: int = 3
    replicas: int = 2
    # Not to ask where nobody listens needs conditions of the API server (1.30 or later).
    asks_less: bool = False


def documents(config: ManifestConfig) -> list[JsonObject]:
    hooks = [_mutating(config), _validating(config)]
    if config.url:
        return hooks
    *before, deployment = workload(config.name, config.namespace, config.image, config.replicas)
    # The configurations come last: from then on the cluster asks.
    return [*before, _secret(config), deployment, *hooks]


def _secret(config: ManifestConfig) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"{config.name}-tls", "namespace": config.namespace},
        "type": "kubernetes.io/tls",
        "data": {"tls.crt": _text(config.pem.cert), "tls.key": _text(config.pem.key)},
    }


def _mutating(config: ManifestConfig) -> JsonObject:
    changing = [mode.name for mode in MODES.values() if mode.mutates]
    rules = [
        _rule("", "pods", operations=("CREATE",)),
        _rule("apps", "daemonsets"),
    ]
    hook = _hook(config, "mutate", MUTATE, rules, [_labelled("In", changing)])
    return _configuration(config, "Mutating", [{**hook, "reinvocationPolicy": "Never"}])


def _validating(config: ManifestConfig) -> JsonObject:
    rules = [
        _rule("", "pods", operations=("CREATE",)),
        _rule("", "replicationcontrollers", "podtemplates"),
        _rule("apps", "deployments", "replicasets", "statefulsets", "daemonsets"),
        _rule("batch", "jobs", "cronjobs"),
    ]
    others = [name for name in MODES if name != WARN.name]
    hooks = [_hook(config, "warn", f"{VALIDATE}/warn", rules, [_labelled("NotIn", others)])]
    hooks += [
        _hook(config, name, f"{VALIDATE}/{name}", rules, [_labelled("In", [name])])
        for name in others
        if name != OFF.name
    ]
    if config.asks_less:
        hooks = [{**hook, **_CONDITIONS} if _only_speaks(hook) else hook for hook in hooks]
    unknown = [{"key": LABEL, "operator": "Exists"}, _labelled("NotIn", list(MODES))]
    namespaces = [{**_rule("", "namespaces"), "scope": "Cluster"}]
    label = _hook(config, "label", f"{VALIDATE}/warn", namespaces, unknown)
    # It only speaks; that it cannot must never keep a namespace from being made.
    return _configuration(config, "Validating", [*hooks, {**label, "failurePolicy": "Ignore"}])


def _only_speaks(hook: JsonObject) -> bool:
    mode = MODES[hook["name"].partition(".")[0]]
    return not mode.enforces


def _configuration(config: ManifestConfig, kind: str, hooks: list[JsonObject]) -> JsonObject:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": config.name},
        "webhooks": hooks,
    }


def _hook(
    config: ManifestConfig,
    name: str,
    path: str,
    rules: list[JsonObject],
    expressions: list[JsonObject],
) -> JsonObject:
    spared = sorted(SPARED if config.url else {*SPARED, config.namespace})
    left_out = {"key": _NAME_LABEL, "operator": "NotIn", "values": spared}
    return {
        "name": f"{name}.{_DOMAIN}",
        "clientConfig": _client(config, path),
        "rules": rules,
        "namespaceSelector": {"matchExpressions": [left_out, *expressions]},
        "failurePolicy": config.failure_policy,
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": config.timeout_seconds,
        "admissionReviewVersions": ["v1"],
    }


def _client(config: ManifestConfig, path: str) -> JsonObject:
    where: JsonObject
    if config.url:
        where = {"url": f"{config.url.rstrip('/')}{path}"}
    else:
        service: dict[str, Any] = {"name": config.name, "namespace": config.namespace}
        where = {"service": {**service, "path": path, "port": 443}}
    return {**where, "caBundle": _text(config.pem.ca)}


def _rule(group: str, *resources: str, operations: tuple[str, ...] = _WRITES) -> JsonObject:
    return {
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "operations": list(operations),
        "resources": list(resources),
        "scope": "Namespaced",
    }


def _labelled(operator: str, values: list[str]) -> JsonObject:
    return {"key": LABEL, "operator": operator, "values": values}


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
