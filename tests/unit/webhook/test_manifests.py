import base64
from typing import Any

import pytest

from winkube.api.selector.labels import from_label_selector
from winkube.rules.admission.answer import PODS, TEMPLATES
from winkube.rules.admission.mode import LABEL, MODES
from winkube.rules.engine import check
from winkube.rules.target import parse_target
from winkube.webhook.manifests import ManifestConfig, Pem, documents

PEM = Pem(b"ca", b"cert", b"key")


def made(**fields: Any) -> dict[str, dict[str, Any]]:
    return {each["kind"]: each for each in documents(ManifestConfig(PEM, **fields))}


def hooks(kind: str, **fields: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = made(**fields)[f"{kind}WebhookConfiguration"]["webhooks"]
    return found


def asked(kind: str, namespace: str, label: str | None) -> list[str]:
    labels = {"kubernetes.io/metadata.name": namespace}
    if label is not None:
        labels[LABEL] = label
    return [
        hook["name"].partition(".")[0]
        for hook in hooks(kind, image="x")
        if from_label_selector(hook["namespaceSelector"]).matches(labels)
        and hook["rules"][0]["resources"] != ["namespaces"]
    ]


@pytest.mark.parametrize("mode", [None, *MODES, "unheard-of"])
def test_a_namespace_is_asked_about_once_in_its_mode(mode: str | None) -> None:
    wanted = mode if mode is not None and mode in MODES else "warn"
    assert asked("Validating", "shop", mode) == ([] if wanted == "off" else [wanted])
    mutates = MODES[wanted].mutates
    assert asked("Mutating", "shop", mode) == (["mutate"] if mutates else [])


@pytest.mark.parametrize("spared", ["kube-system", "winkube-webhook"])
@pytest.mark.parametrize("mode", [None, *MODES])
def test_the_system_and_the_webhook_itself_are_never_asked_about(
    spared: str, mode: str | None
) -> None:
    assert asked("Validating", spared, mode) == []
    assert asked("Mutating", spared, mode) == []


def test_every_template_that_the_rules_judge_is_asked_about() -> None:
    rules = hooks("Validating", image="x")[0]["rules"]
    listed = {
        f"{plural}.{group}" if group else plural
        for rule in rules
        for group in rule["apiGroups"]
        for plural in rule["resources"]
    }
    assert listed == {PODS, *TEMPLATES}


def test_a_webhook_that_is_down_stops_nothing_unless_told_to() -> None:
    for kind in ("Mutating", "Validating"):
        for hook in hooks(kind, image="x"):
            assert hook["failurePolicy"] == "Ignore"
            assert hook["sideEffects"] == "None"
            assert hook["matchPolicy"] == "Equivalent"
            assert hook["timeoutSeconds"] == 3
            assert hook["admissionReviewVersions"] == ["v1"]
            assert base64.b64decode(hook["clientConfig"]["caBundle"]) == b"ca"
    strict = hooks("Validating", image="x", failure_policy="Fail")
    assert {hook["failurePolicy"] for hook in strict[:-1]} == {"Fail"}
    assert strict[-1]["failurePolicy"] == "Ignore"


def test_with_a_url_there_are_only_configurations() -> None:
    found = made(url="https://host:1/")
    assert set(found) == {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
    urls = [hook["clientConfig"]["url"] for hook in hooks("Validating", url="https://host:1/")]
    assert urls[0] == "https://host:1/validate/warn"


def test_the_workload_passes_our_own_rules() -> None:
    every = documents(ManifestConfig(PEM, image="registry.example/winkube:1"))
    assert [found.rule.id for found in check(every, parse_target("1.34", "ws2022"))] == []
    kinds = [each["kind"] for each in every]
    assert kinds.index("Secret") < kinds.index("Deployment")
    assert kinds[-2:] == ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]


def test_strict_namespaces_are_asked_about_whatever_the_conditions() -> None:
    for hook in hooks("Validating", url="https://h", asks_less=True):
        only_speaks = hook["name"].partition(".")[0] in ("warn", "mutate")
        assert ("matchConditions" in hook) is only_speaks
    assert "matchConditions" not in hooks("Mutating", url="https://h", asks_less=True)[0]
    assert "matchConditions" not in hooks("Validating", url="https://h")[0]


def test_a_slow_start_is_no_reason_for_a_restart() -> None:
    pod = made(image="x")["Deployment"]["spec"]["template"]["spec"]
    probe = pod["containers"][0]["startupProbe"]
    assert probe["httpGet"]["path"] == "/healthz"
    assert probe["periodSeconds"] * probe["failureThreshold"] >= 60
