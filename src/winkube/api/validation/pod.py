"""Pods and pod templates."""

import functools
from typing import Any, Final

import orjson

from winkube.api import names
from winkube.api.decode import clone
from winkube.api.errors import Cause
from winkube.api.validation.common import MAX_INT32, check_ip, check_labels, check_one_of, in_range
from winkube.api.validation.container import check_containers, check_image_spaces
from winkube.api.validation.metadata import check_annotations
from winkube.api.validation.problems import Problems
from winkube.api.validation.resources import check_resources
from winkube.api.validation.scheduling import check_affinity, check_spreading, check_tolerations
from winkube.api.validation.security import (
    check_host_process,
    check_os,
    check_pod_security,
    each_container,
)
from winkube.api.validation.volume import check_volumes
from winkube.base.types import JsonObject

_MAX_REMEMBERED_BYTES: Final = 16 * 1024
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_RESTARTS: Final = ("Always", "OnFailure", "Never")
_UPDATABLE: Final = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def validate_pod(obj: JsonObject, problems: Problems) -> None:
    text = orjson.dumps(obj.get("spec") or {})
    find = _spec_causes if len(text) < _MAX_REMEMBERED_BYTES else _spec_causes.__wrapped__
    problems.causes.extend(find(text))


@functools.lru_cache(maxsize=512)
def _spec_causes(text: bytes) -> tuple[Cause, ...]:
    """By its text: the pods of one controller have the same spec, and so the same problems."""
    spec, problems = orjson.loads(text), Problems()
    check_pod_spec(spec, "spec", problems)
    _check_host_network(spec, "spec", problems, is_pod=True)
    for container, path in each_container(spec, "spec"):
        check_image_spaces(container, path, problems)
    return tuple(problems.causes)


def validate_new_pod(obj: JsonObject, problems: Problems) -> None:
    validate_pod(obj, problems)
    spec = obj.get("spec") or {}
    if spec.get("ephemeralContainers"):
        problems.forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        problems.forbidden(
            "spec.nodeName", "cannot be set until all schedulingGates have been cleared"
        )


def check_template(template: JsonObject, path: str, problems: Problems) -> None:
    meta, spec = template.get("metadata") or {}, template.get("spec") or {}
    check_labels(meta.get("labels"), f"{path}.labels", problems)
    check_annotations(meta.get("annotations"), f"{path}.annotations", problems)
    check_pod_spec(spec, f"{path}.spec", problems)
    _check_host_network(spec, f"{path}.spec", problems, is_pod=False)
    if spec.get("ephemeralContainers"):
        problems.forbidden(
            f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template"
        )


def check_pod_spec(spec: JsonObject, path: str, problems: Problems) -> None:
    volumes = check_volumes(spec.get("volumes"), f"{path}.volumes", problems)
    check_containers(spec, volumes, path, problems)
    check_resources(spec.get("resources"), f"{path}.resources", problems)
    check_one_of(spec.get("restartPolicy"), _RESTARTS, f"{path}.restartPolicy", problems)
    check_one_of(spec.get("dnsPolicy"), _DNS_POLICIES, f"{path}.dnsPolicy", problems)
    check_labels(spec.get("nodeSelector"), f"{path}.nodeSelector", problems)
    check_pod_security(spec, path, problems)
    check_affinity(spec.get("affinity"), f"{path}.affinity", problems)
    _check_dns(spec, f"{path}.dnsConfig", problems)
    constraints = spec.get("topologySpreadConstraints")
    check_spreading(constraints, f"{path}.topologySpreadConstraints", problems)
    check_host_process(spec, path, problems)
    _check_gates(spec, path, problems)
    _check_names(spec, path, problems)
    check_tolerations(spec.get("tolerations"), f"{path}.tolerations", problems)
    _check_aliases(spec.get("hostAliases") or (), f"{path}.hostAliases", problems)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= MAX_INT32:
        problems.invalid(f"{path}.activeDeadlineSeconds", deadline, in_range(1, MAX_INT32))
    check_os(spec, path, problems)


def _check_names(spec: JsonObject, path: str, problems: Problems) -> None:
    for field, check in (
        ("serviceAccountName", names.dns_subdomain_problems),
        ("nodeName", names.dns_subdomain_problems),
        ("hostname", names.dns_label_problems),
        ("subdomain", names.dns_label_problems),
        ("runtimeClassName", names.dns_subdomain_problems),
    ):
        value = spec.get(field)
        if value:
            problems.all_invalid(f"{path}.{field}", value, check(value))
    policy = spec.get("preemptionPolicy")
    if policy is not None:
        choices = ("PreemptLowerPriority", "Never")
        check_one_of(policy, choices, f"{path}.preemptionPolicy", problems)


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
        # Underscores are fine here (relaxed since v1.34).
        name = search.removesuffix(".").replace("_", "-") if search != "." else "x"
        details = names.dns_subdomain_problems(name.strip("-") or "-")
        problems.all_invalid(f"{path}[{index}]", search, details)


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


def validate_pod_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    if after == before:
        return
    for field in ("containers", "initContainers"):
        if len(after.get(field) or ()) != len(before.get(field) or ()):
            problems.forbidden(f"spec.{field}", "pod updates may not add or remove containers")
            return
    _check_deadline(after, before, problems)
    _check_only_added(after, before, problems)
    gates = {gate.get("name") for gate in before.get("schedulingGates") or ()}
    for index, gate in enumerate(after.get("schedulingGates") or ()):
        if gate.get("name") not in gates:
            problems.forbidden(
                f"spec.schedulingGates[{index}].name",
                f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'",
            )
    changed = _other_changes(after, before)
    if changed:
        shown = "\n".join(f"  {field}" for field in changed)
        problems.forbidden(
            "spec", f"pod updates may not change fields other than {_UPDATABLE}\n{shown}"
        )


def validate_ephemeral_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    """Containers for debugging may be added, and stay as they are from then on."""
    after = {entry["name"]: entry for entry in _ephemeral(new)}
    for before in _ephemeral(old):
        name = before["name"]
        if name not in after:
            text = f'existing ephemeral containers "{name}" may not be removed\n'
            problems.forbidden("spec.ephemeralContainers", text)
        elif after[name] != before:
            text = f'existing ephemeral containers "{name}" may not be changed\n'
            problems.forbidden("spec.ephemeralContainers", text)


def _ephemeral(pod: JsonObject) -> list[JsonObject]:
    return (pod.get("spec") or {}).get("ephemeralContainers") or []


def validate_resize(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    """Only resources reach this write; a container cannot be without what it asked for."""
    for index, container in enumerate((new.get("spec") or {}).get("containers") or ()):
        was = old["spec"]["containers"][index].get("resources") or {}
        now = container.get("resources") or {}
        for field in ("limits", "requests"):
            if set(was.get(field) or ()) - set(now.get(field) or ()):
                path = f"spec.containers[{index}].resources.{field}"
                problems.forbidden(path, f"resource {field} cannot be removed")


def _check_deadline(after: JsonObject, before: JsonObject, problems: Problems) -> None:
    path = "spec.activeDeadlineSeconds"
    now, was = after.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if now is None:
        if was is not None:
            text = "must not update from a positive integer to nil value"
            problems.invalid(path, None, text)
    elif was is not None and was < now:
        problems.invalid(path, now, "must be less than or equal to previous value")


def _check_only_added(after: JsonObject, before: JsonObject, problems: Problems) -> None:
    def identity(toleration: JsonObject) -> JsonObject:
        return {key: toleration[key] for key in toleration if key != "tolerationSeconds"}

    kept = [identity(toleration) for toleration in after.get("tolerations") or ()]
    for toleration in before.get("tolerations") or ():
        if identity(toleration) not in kept:
            problems.forbidden(
                "spec.tolerations",
                "existing toleration can not be modified except its tolerationSeconds",
            )
            return


def _other_changes(after: JsonObject, before: JsonObject) -> list[str]:
    """Fields of the spec that differ once everything that may differ is put back."""
    munged = clone(after)
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        munged.pop(field, None)
        if field in before:
            munged[field] = before[field]
    for field in ("containers", "initContainers"):
        for container, original in zip(
            munged.get(field) or (), before.get(field) or (), strict=True
        ):
            container["image"] = original.get("image")
    grace = "terminationGracePeriodSeconds"
    if (before.get(grace) or 0) < 0 and munged.get(grace) == 1:
        munged[grace] = before[grace]
    if before.get("schedulingGates"):
        # A gated pod is not scheduled yet: where it may go can still be narrowed.
        for field in ("nodeSelector", "affinity"):
            munged.pop(field, None)
            if field in before:
                munged[field] = before[field]
    keys = sorted({*munged, *before})
    return [f"spec.{key}" for key in keys if munged.get(key) != before.get(key)]
