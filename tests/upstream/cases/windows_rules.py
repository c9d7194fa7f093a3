"""Everything that the knowledge base says the API server refuses: as a pod, and as a template."""

from typing import Any

from tests.unit.rules.test_data import read_pair
from tests.upstream.exchange import Case, Step

from winkube.facts.version import parse_version
from winkube.rules.load import load_rules
from winkube.rules.model import Effect, Enforced, Rule

_SERVED = parse_version("1.34")
_PLURALS = {"PodSecurityPolicy": "podsecuritypolicies"}
# Upstream drops a field whose feature gate is off before it looks at it: ContainerStopSignals.
GATED = frozenset({"WIN-POD-041", "WIN-POD-063"})


def refused_rules() -> list[Rule]:
    return [
        rule
        for rule in load_rules()
        if rule.effect is Effect.REFUSED
        and rule.enforced is Enforced.API
        and _SERVED in rule.holds.kubernetes
    ]


def _collection(document: dict[str, Any]) -> str:
    version, kind = document["apiVersion"], document["kind"]
    root = "apis" if "/" in version else "api"
    return f"/{root}/{version}/namespaces/{{ns}}/{_PLURALS.get(kind, kind.lower() + 's')}"


def _deployment(pod: dict[str, Any]) -> Step:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod["spec"]}
    body = {
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }
    return Step("POST", "/apis/apps/v1/namespaces/{ns}/deployments", body)


def _steps(rule: Rule) -> list[Step]:
    documents: Any = read_pair(rule, "bad")[0]
    steps = [Step("POST", _collection(document), document) for document in documents]
    steps += [_deployment(document) for document in documents if document["kind"] == "Pod"]
    return steps


CASES = [Case(rule.id, _steps(rule), managed=False) for rule in refused_rules()]
