"""Pods and pod templates."""

from collections.abc import Callable, Iterable
from typing import Any, Final

import orjson

from winkube.api import names
from winkube.api.errors import Cause
from winkube.api.memo import Memo
from winkube.api.validation.common import MAX_INT32, check_ip, check_labels, check_one_of, in_range
from winkube.api.validation.metadata import check_annotations
from winkube.api.validation.pod.container import check_containers, check_image_spaces
from winkube.api.validation.pod.pod_annotations import (
    check_pod_annotations,
    check_profile_annotations,
)
from winkube.api.validation.pod.pod_resources import check_pod_resources
from winkube.api.validation.pod.resources import check_pod_claims, check_resources
from winkube.api.validation.pod.scheduling import check_affinity, check_spreading, check_tolerations
from winkube.api.validation.pod.security import (
    check_host_process,
    check_host_users,
    check_os,
    check_pod_security,
)
from winkube.api.validation.pod.volume import check_volumes
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_RESTARTS: Final = ("Always", "OnFailure", "Never")
_PREEMPTIONS: Final = ("PreemptLowerPriority", "Never")


_KNOWN: Final[Memo[tuple[Cause, ...]]] = Memo()


def validate_pod(obj: JsonObject, problems: Problems) -> None:
    spec, meta = obj.get("spec") or {}, obj.get("metadata") or {}
    if meta.get("annotations"):
        check_pod_annotations(meta["annotations"], spec, "metadata.annotations", problems)
    text = orjson.dumps(spec)
    if b'"ephemeral":' in text:  # the claims of such volumes have the pod's name
        problems.causes.extend(_spec_causes(spec, meta.get("name") or ""))
    else:
        problems.causes.extend(_KNOWN.get(text, lambda: _spec_causes(spec, "")))


def _spec_causes(spec: JsonObject, name: str) -> tuple[Cause, ...]:
    problems = Problems()
    check_pod_spec(spec, "spec", problems, pod_name=name, is_pod=True)
    if not spec.get("serviceAccountName"):
        _check_no_tokens(spec, problems)
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            check_image_spaces(container, f"spec.{field}[{index}]", problems)
    return tuple(problems.causes)


def _check_no_tokens(spec: JsonObject, problems: Problems) -> None:
    for index, volume in enumerate(spec.get("volumes") or ()):
        for place, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if source.get("serviceAccountToken") is not None:
                problems.forbidden(
                    f"spec.volumes[{index}].projected.sources[{place}].serviceAccountToken",
                    "must not be specified when serviceAccountName is not set",
                )


def validate_new_pod(obj: JsonObject, problems: Problems) -> None:
    validate_pod(obj, problems)
    spec = obj.get("spec") or {}
    if spec.get("ephemeralContainers"):
        problems.forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        problems.forbidden(
            "spec.nodeName", "cannot be set until all schedulingGates have been cleared"
        )
    annotations = (obj.get("metadata") or {}).get("annotations")
    if annotations:
        check_profile_annotations(annotations, spec, "spec", problems)


def check_template(template: JsonObject, path: str, problems: Problems) -> None:
    meta, spec = template.get("metadata") or {}, template.get("spec") or {}
    check_labels(meta.get("labels"), f"{path}.labels", problems)
    annotations, here = meta.get("annotations"), f"{path}.annotations"
    check_annotations(annotations, here, problems)
    if annotations:
        check_pod_annotations(annotations, spec, here, problems)
    check_pod_spec(spec, f"{path}.spec", problems)
    if annotations:
        check_profile_annotations(annotations, spec, f"{path}.spec", problems, app_armor=False)
    if spec.get("ephemeralContainers"):
        problems.forbidden(
            f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template"
        )


def check_pod_spec(
    spec: JsonObject, path: str, problems: Problems, *, pod_name: str = "", is_pod: bool = False
) -> None:
    volumes = check_volumes(spec.get("volumes"), f"{path}.volumes", problems, pod_name)
    check_pod_claims(spec.get("resourceClaims"), f"{path}.resourceClaims", problems)
    check_containers(spec, volumes, path, problems)
    if spec.get("resources") is not None:
        check_pod_resources(spec, f"{path}.resources", problems)
    _check_host_network(spec, path, problems, is_pod=is_pod)
    check_one_of(spec.get("restartPolicy"), _RESTARTS, f"{path}.restartPolicy", problems)
    check_one_of(spec.get("dnsPolicy"), _DNS_POLICIES, f"{path}.dnsPolicy", problems)
    check_labels(spec.get("nodeSelector"), f"{path}.nodeSelector", problems)
    check_pod_security(spec, path, problems)
    check_affinity(spec.get("affinity"), f"{path}.affinity", problems)
    _check_dns(spec, f"{path}.dnsConfig", problems)
    _check_gates(spec, path, problems)
    constraints = spec.get("topologySpreadConstraints") or ()
    check_spreading(constraints, f"{path}.topologySpreadConstraints", problems)
    check_host_process(spec, path, problems)
    check_host_users(spec, path, problems)
    _check_name(spec, "serviceAccountName", names.dns_subdomain_problems, path, problems)
    _check_name(spec, "nodeName", names.dns_subdomain_problems, path, problems)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= MAX_INT32:
        problems.invalid(f"{path}.activeDeadlineSeconds", deadline, in_range(1, MAX_INT32))
    _check_name(spec, "hostname", names.dns_label_problems, path, problems)
    _check_name(spec, "subdomain", names.dns_label_problems, path, problems)
    check_tolerations(spec.get("tolerations"), f"{path}.tolerations", problems)
    _check_aliases(spec.get("hostAliases") or (), f"{path}.hostAliases", problems)
    _check_name(spec, "priorityClassName", names.dns_subdomain_problems, path, problems)
    runtime = spec.get("runtimeClassName")
    if runtime is not None:
        details = names.dns_subdomain_problems(runtime)
        problems.all_invalid(f"{path}.runtimeClassName", runtime, details)
    policy = spec.get("preemptionPolicy")
    if policy is not None:
        check_one_of(policy, _PREEMPTIONS, f"{path}.preemptionPolicy", problems)
    if spec.get("overhead"):
        check_resources({"limits": spec["overhead"]}, (), f"{path}.overhead", problems)
    check_os(spec, path, problems)


def _check_name(
    spec: JsonObject,
    field: str,
    check: Callable[[str], Iterable[str]],
    path: str,
    problems: Problems,
) -> None:
    value = spec.get(field)
    if value:
        problems.all_invalid(f"{path}.{field}", value, check(value))


def _check_gates(spec: JsonObject, path: str, problems: Problems) -> None:
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        kind = gate.get("conditionType") or ""
        here = f"{path}.readinessGates[{index}].conditionType"
        problems.all_invalid(here, kind, names.label_key_problems(kind))
    seen: set[str] = set()
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        here, name = f"{path}.schedulingGates[{index}]", gate.get("name") or ""
        problems.all_invalid(here, name, names.label_key_problems(name))
        if name in seen:
            problems.duplicate(here, name)
        seen.add(name)


def _check_aliases(aliases: Any, path: str, problems: Problems) -> None:
    for index, alias in enumerate(aliases):
        check_ip(alias.get("ip") or "", f"{path}[{index}].ip", problems)
        for place, host in enumerate(alias.get("hostnames") or ()):
            here = f"{path}[{index}].hostnames[{place}]"
            problems.all_invalid(here, host, names.dns_subdomain_problems(host))


def _check_dns(spec: JsonObject, path: str, problems: Problems) -> None:
    config = spec.get("dnsConfig")
    servers = (config or {}).get("nameservers") or ()
    if spec.get("dnsPolicy") == "None":
        if config is None:
            problems.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not servers:
            problems.required(
                f"{path}.nameservers",
                "must provide at least one DNS nameserver when `dnsPolicy` is None",
            )
            return
    if config is None:
        return
    if len(servers) > 3:
        problems.invalid(f"{path}.nameservers", servers, "must not have more than 3 nameservers")
    for index, server in enumerate(servers):
        check_ip(server, f"{path}.nameservers[{index}]", problems)
    _check_searches(config.get("searches") or (), f"{path}.searches", problems)
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            problems.required(f"{path}.options[{index}]", "must not be empty")


def _check_searches(searches: Any, path: str, problems: Problems) -> None:
    if len(searches) > 32:
        problems.invalid(path, searches, "must not have more than 32 search paths")
    if len(" ".join(searches)) > 2048:
        problems.invalid(
            path,
            searches,
            "must not have more than 2048 characters (including spaces) in the search list",
        )
    for index, search in enumerate(searches):
        if search != ".":
            name = search.removesuffix(".")
            details = names.dns_search_problems(name)
            problems.all_invalid(f"{path}[{index}]", name, details)


def _check_host_network(spec: JsonObject, path: str, problems: Problems, *, is_pod: bool) -> None:
    if not spec.get("hostNetwork"):
        return
    for index, container in enumerate(spec.get("containers") or ()):
        for place, port in enumerate(container.get("ports") or ()):
            host, own = port.get("hostPort") or 0, port.get("containerPort")
            if (is_pod or host) and host != own:
                problems.invalid(
                    f"{path}.containers[{index}].ports[{place}].hostPort",
                    host,
                    "must match `containerPort` when `hostNetwork` is true",
                )
