"""Pod Security Standards: policies from labels, and verdicts by level and version."""

from typing import Any

import pytest

from winkube.apiserver.admission.pod_security.evaluate import details, evaluate
from winkube.apiserver.admission.pod_security.policy import Standard, parse_policy

LABEL = "pod-security.kubernetes.io/"


def policy(**labels: str) -> tuple[Any, list[str]]:
    named = {LABEL + key.replace("_", "-"): value for key, value in labels.items()}
    found, problems = parse_policy(named)
    return found, [cause.field for cause in problems.causes]


def verdict(standard: Standard, spec: dict[str, Any]) -> str:
    return details(evaluate(standard, {}, {"containers": [{"name": "c"}], **spec}))


def test_enforcing_warns_as_well_unless_told() -> None:
    found, _ = policy(enforce="restricted", enforce_version="v1.20")
    assert (str(found.enforce), str(found.warn)) == ("restricted:v1.20", "restricted:v1.20")
    found, _ = policy(enforce="restricted", warn="privileged")
    assert str(found.warn) == "privileged:latest"
    found, _ = policy(enforce="baseline", warn_version="v1.1")
    assert str(found.warn) == "baseline:v1.1"


def test_a_level_nobody_knows_is_the_strictest() -> None:
    found, fields = policy(enforce="odd", audit="odd", warn="odd")
    assert [standard.level for standard in found] == ["restricted", "privileged", "privileged"]
    assert fields == [f"metadata.labels[{LABEL}{mode}]" for mode in ("enforce", "audit", "warn")]


def test_a_plain_pod_is_baseline_and_not_restricted() -> None:
    assert verdict(Standard("baseline"), {}) == ""
    assert verdict(Standard("restricted"), {}) == (
        "allowPrivilegeEscalation != false "
        '(container "c" must set securityContext.allowPrivilegeEscalation=false), '
        "unrestricted capabilities "
        '(container "c" must set securityContext.capabilities.drop=["ALL"]), '
        "runAsNonRoot != true "
        '(pod or container "c" must set securityContext.runAsNonRoot=true), '
        "seccompProfile (pod or container "
        '"c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")'
    )


def test_a_windows_pod_is_asked_for_less_since_1_25() -> None:
    windows = {"os": {"name": "windows"}}
    assert verdict(Standard("restricted", 25), windows) == (
        'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)'
    )
    assert "seccompProfile" in verdict(Standard("restricted", 24), windows)


def test_host_processes_are_privileged() -> None:
    spec = {"securityContext": {"windowsOptions": {"hostProcess": True}}, "hostNetwork": True}
    assert verdict(Standard("baseline"), spec) == (
        "host namespaces (hostNetwork=true), hostProcess "
        "(pod must not set securityContext.windowsOptions.hostProcess=true)"
    )
    assert verdict(Standard("privileged"), spec) == ""


@pytest.mark.parametrize(
    ("minor", "name", "allowed"),
    [
        (26, "net.ipv4.ip_local_reserved_ports", False),
        (27, "net.ipv4.ip_local_reserved_ports", True),
        (28, "net.ipv4.tcp_fin_timeout", False),
        (29, "net.ipv4.tcp_fin_timeout", True),
        (31, "net.ipv4.tcp_rmem", False),
        (None, "net.ipv4.tcp_rmem", True),
        (99, "net.ipv4.tcp_rmem", True),
    ],
)
def test_sysctls_become_safe_with_time(minor: int | None, name: str, allowed: bool) -> None:
    spec = {"securityContext": {"sysctls": [{"name": name, "value": "1"}]}}
    said = verdict(Standard("baseline", minor), spec)
    assert said == ("" if allowed else f"forbidden sysctls ({name})")
