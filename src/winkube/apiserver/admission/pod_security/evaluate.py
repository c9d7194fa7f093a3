"""Which checks a level has in which version, and their verdict on a pod."""

import functools
from typing import Final, NamedTuple

from winkube.apiserver.admission.pod_security import checks, restricted
from winkube.apiserver.admission.pod_security.checks import Check, Violation
from winkube.apiserver.admission.pod_security.policy import BASELINE, PRIVILEGED, Standard
from winkube.base.types import JsonObject


class Rule(NamedTuple):
    """A check and how it changed: the minor version since when each form holds."""

    name: str
    forms: tuple[tuple[int, Check], ...]
    replaces: str = ""  # the baseline's rule that it includes

    def at(self, minor: int) -> Check | None:
        return next((check for since, check in reversed(self.forms) if since <= minor), None)


# By name, the order in which violations are listed.
_BASELINE: Final = (
    Rule("appArmorProfile", ((0, checks.app_armor),)),
    Rule("capabilities_baseline", ((0, checks.capabilities_baseline),)),
    Rule("hostNamespaces", ((0, checks.host_namespaces),)),
    Rule("hostPathVolumes", ((0, checks.host_paths),)),
    Rule("hostPorts", ((0, checks.host_ports),)),
    Rule("hostProbesAndHostLifecycle", ((34, checks.probe_hosts),)),
    Rule("privileged", ((0, checks.privileged),)),
    Rule("procMount", ((0, checks.proc_mount),)),
    Rule("seLinuxOptions", ((0, checks.selinux), (31, checks.selinux_31))),
    Rule(
        "seccompProfile_baseline",
        ((0, restricted.seccomp_notes), (19, restricted.seccomp_baseline)),
    ),
    Rule(
        "sysctls",
        (
            (0, checks.sysctls_0),
            (27, checks.sysctls_27),
            (29, checks.sysctls_29),
            (32, checks.sysctls_32),
        ),
    ),
    Rule("windowsHostProcess", ((0, checks.host_process),)),
)
_RESTRICTED: Final = (
    Rule(
        "allowPrivilegeEscalation",
        (
            (8, restricted.privilege_escalation),
            (25, restricted.unless_windows(restricted.privilege_escalation)),
        ),
    ),
    Rule(
        "capabilities_restricted",
        (
            (22, restricted.capabilities_restricted),
            (25, restricted.unless_windows(restricted.capabilities_restricted)),
        ),
        "capabilities_baseline",
    ),
    Rule("restrictedVolumes", ((0, restricted.volume_types),), "hostPathVolumes"),
    Rule("runAsNonRoot", ((0, restricted.non_root),)),
    Rule("runAsUser", ((23, restricted.root_user),)),
    Rule(
        "seccompProfile_restricted",
        (
            (19, restricted.seccomp_restricted),
            (25, restricted.unless_windows(restricted.seccomp_restricted)),
        ),
        "seccompProfile_baseline",
    ),
)
_NEWEST: Final = max(since for rule in (*_BASELINE, *_RESTRICTED) for since, _ in rule.forms)


@functools.lru_cache(maxsize=256)
def _checks(standard: Standard) -> tuple[Check, ...]:
    minor = min(standard.order, _NEWEST)
    strict = () if standard.level == BASELINE else _RESTRICTED
    added = [rule for rule in strict if rule.at(minor) is not None]
    replaced = {rule.replaces for rule in added}
    rules = [*(rule for rule in _BASELINE if rule.name not in replaced), *added]
    return tuple(check for rule in rules if (check := rule.at(minor)) is not None)


def evaluate(standard: Standard, metadata: JsonObject, spec: JsonObject) -> list[Violation]:
    if standard.level == PRIVILEGED:
        return []
    found = (check(metadata, spec) for check in _checks(standard))
    return [violation for violation in found if violation is not None]


def details(violations: list[Violation]) -> str:
    return ", ".join(map(str, violations))


def reasons(violations: list[Violation]) -> str:
    return ", ".join(violation.reason for violation in violations)
