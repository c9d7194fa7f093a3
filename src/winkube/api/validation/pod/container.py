"""Containers: names, images, ports, environment, probes and hooks."""

import re
from dataclasses import dataclass
from typing import Any, Final

from winkube.api import names
from winkube.api.validation.common import (
    PROTOCOLS,
    check_nonnegative,
    check_one_of,
    check_port,
    check_port_or_name,
)
from winkube.api.validation.pod.mount import check_mounts
from winkube.api.validation.pod.projection import check_field_reference, check_resource_reference
from winkube.api.validation.pod.resources import check_resources
from winkube.api.validation.pod.security import check_container_security
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_ENV_FIELDS: Final = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
    "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_HEADER: Final = re.compile(r"[-A-Za-z0-9]+")
_HEADER_TEXT: Final = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', "
    "regex used for validation is '[-A-Za-z0-9]+')"
)
_INIT_ONLY: Final = "may not be set for init containers without restartPolicy=Always"
_EPHEMERAL: Final = "cannot be set for an Ephemeral Container"
_EPHEMERAL_FORBIDDEN: Final = (
    "ports", *_PROBES, "lifecycle", "resizePolicy", "restartPolicy",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a container refers to in its pod."""

    spec: JsonObject
    volumes: dict[str, JsonObject]

    @property
    def claims(self) -> list[str]:
        return [claim.get("name") or "" for claim in self.spec.get("resourceClaims") or ()]


def check_containers(
    spec: JsonObject, volumes: dict[str, JsonObject], path: str, problems: Problems
) -> None:
    """All three lists; names are unique across them."""
    around = Surroundings(spec, volumes)
    containers = spec.get("containers") or []
    if not containers:
        problems.required(f"{path}.containers")
    seen: set[str] = set()
    for index, container in enumerate(containers):
        here = f"{path}.containers[{index}]"
        _check_common(container, around, here, problems)
        name = container.get("name") or ""
        if name in seen:
            problems.duplicate(f"{here}.name", name)
        seen.add(name)
        _check_life(spec, container, here, problems)
    _check_host_ports(containers, f"{path}.containers", problems)
    for index, container in enumerate(spec.get("initContainers") or ()):
        here = f"{path}.initContainers[{index}]"
        _check_common(container, around, here, problems)
        _check_unique(container, seen, here, problems)
        _check_init(spec, container, here, problems)
    others = frozenset(seen)
    # Beside these a container without a name counts too.
    seen.update(container.get("name") or "" for container in spec.get("initContainers") or ())
    for index, container in enumerate(spec.get("ephemeralContainers") or ()):
        here = f"{path}.ephemeralContainers[{index}]"
        _check_common(container, around, here, problems)
        check_image_spaces(container, here, problems)
        _check_unique(container, seen, here, problems)
        seen.add(container.get("name") or "")
        target = container.get("targetContainerName")
        if target and target not in others:
            problems.not_found(f"{here}.targetContainerName", target)
        _check_ephemeral(container, here, problems)


def _check_unique(container: JsonObject, seen: set[str], path: str, problems: Problems) -> None:
    name = container.get("name") or ""
    if name in seen:
        problems.duplicate(f"{path}.name", name)
    elif name:
        seen.add(name)


def _check_common(
    container: JsonObject, around: Surroundings, path: str, problems: Problems
) -> None:
    name, image = container.get("name") or "", container.get("image") or ""
    if not name:
        problems.required(f"{path}.name")
    else:
        problems.all_invalid(f"{path}.name", name, names.dns_label_problems(name))
    if not image:
        problems.required(f"{path}.image")
    policies = ("File", "FallbackToLogsOnError")
    policy_path = f"{path}.terminationMessagePolicy"
    check_one_of(container.get("terminationMessagePolicy"), policies, policy_path, problems)
    _check_ports(container.get("ports") or (), f"{path}.ports", problems)
    check_environment(container, path, problems)
    check_mounts(container, around.volumes, path, problems)
    pulls = ("Always", "IfNotPresent", "Never")
    check_one_of(container.get("imagePullPolicy"), pulls, f"{path}.imagePullPolicy", problems)
    check_resources(container.get("resources"), around.claims, f"{path}.resources", problems)
    if container.get("resizePolicy"):
        _check_resize(container["resizePolicy"], around.spec, f"{path}.resizePolicy", problems)
    security = container.get("securityContext")
    if security:
        host_users = around.spec.get("hostUsers") is not False
        here = f"{path}.securityContext"
        check_container_security(security, here, problems, host_users=host_users)


def _check_resize(policies: Any, spec: JsonObject, path: str, problems: Problems) -> None:
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        resource, restart = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if resource in seen:
            problems.duplicate(f"{path}[{index}]", resource)
        seen.add(resource)
        check_one_of(resource, ("cpu", "memory"), path, problems)
        check_one_of(restart, ("NotRequired", "RestartContainer"), path, problems)
        if spec.get("restartPolicy") == "Never" and restart != "NotRequired":
            text = "must be 'NotRequired' when `restartPolicy` is 'Never'"
            problems.invalid_enum(path, restart, text)


def check_image_spaces(container: JsonObject, path: str, problems: Problems) -> None:
    image = container.get("image") or ""
    if image != image.strip():
        problems.invalid(f"{path}.image", image, "must not have leading or trailing whitespace")


def _check_ports(ports: Any, path: str, problems: Problems) -> None:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        here, name = f"{path}[{index}]", port.get("name") or ""
        if name:
            details = names.port_name_problems(name)
            problems.all_invalid(f"{here}.name", name, details)
            if not details and name in seen:
                problems.duplicate(f"{here}.name", name)
            seen.add(name)
        if not port.get("containerPort"):
            problems.required(f"{here}.containerPort")
        else:
            check_port(port["containerPort"], f"{here}.containerPort", problems)
        if port.get("hostPort"):
            check_port(port["hostPort"], f"{here}.hostPort", problems)
        check_one_of(port.get("protocol"), PROTOCOLS, f"{here}.protocol", problems)


def _check_host_ports(containers: Any, path: str, problems: Problems) -> None:
    seen: set[str] = set()
    for index, container in enumerate(containers):
        for place, port in enumerate(container.get("ports") or ()):
            number = port.get("hostPort")
            if not number:
                continue
            text = f"{port.get('protocol', '')}/{port.get('hostIP') or ''}/{number}"
            if text in seen:
                problems.duplicate(f"{path}[{index}].ports[{place}].hostPort", text)
            seen.add(text)


def check_environment(container: JsonObject, path: str, problems: Problems) -> None:
    for index, variable in enumerate(container.get("env") or ()):
        here, name = f"{path}.env[{index}]", variable.get("name") or ""
        if not name:
            problems.required(f"{here}.name")
        else:
            problems.all_invalid(f"{here}.name", name, names.env_name_problems(name))
        if variable.get("valueFrom") is not None:
            _check_value_source(variable, f"{here}.valueFrom", problems)
    for index, source in enumerate(container.get("envFrom") or ()):
        _check_env_from(source, f"{path}.envFrom", index, problems)


def _check_value_source(variable: JsonObject, path: str, problems: Problems) -> None:
    source = variable["valueFrom"]
    count = sum(value is not None for value in source.values())
    if source.get("fieldRef") is not None:
        check_field_reference(source["fieldRef"], _ENV_FIELDS, f"{path}.fieldRef", problems)
    if source.get("resourceFieldRef") is not None:
        reference = source["resourceFieldRef"]
        check_resource_reference(reference, f"{path}.resourceFieldRef", problems)
    for key in ("configMapKeyRef", "secretKeyRef"):
        if source.get(key) is not None:
            _check_key_reference(source[key], f"{path}.{key}", problems)
    if count == 0:
        problems.invalid(
            path,
            "",
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or "
            "`secretKeyRef`",
        )
    elif variable.get("value"):
        problems.invalid(path, "", "may not be specified when `value` is not empty")
    elif count > 1:
        problems.invalid(path, "", "may not have more than one field specified at a time")


def _check_key_reference(reference: JsonObject, path: str, problems: Problems) -> None:
    name, key = reference.get("name") or "", reference.get("key") or ""
    problems.all_invalid(f"{path}.name", name, names.dns_subdomain_problems(name))
    if not key:
        problems.required(f"{path}.key")
    else:
        problems.all_invalid(f"{path}.key", key, names.config_key_problems(key))


def _check_env_from(source: JsonObject, path: str, index: int, problems: Problems) -> None:
    prefix = source.get("prefix") or ""
    if prefix:
        details = names.env_name_problems(prefix)
        problems.all_invalid(f"{path}[{index}].prefix", prefix, details)
    given = [key for key in ("configMapRef", "secretRef") if source.get(key) is not None]
    for key in given:
        here, name = f"{path}[{index}].{key}", source[key].get("name") or ""
        if not name:
            problems.required(f"{here}.name")
        else:
            problems.all_invalid(f"{here}.name", name, names.dns_subdomain_problems(name))
    if not given:
        problems.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
    elif len(given) > 1:
        problems.invalid(path, "", "may not have more than one field specified at a time")


def _check_life(spec: JsonObject, container: JsonObject, path: str, problems: Problems) -> None:
    """Hooks and probes."""
    lifecycle, grace = container.get("lifecycle"), spec.get("terminationGracePeriodSeconds")
    if lifecycle is not None:
        for hook in ("postStart", "preStop"):
            if lifecycle.get(hook) is not None:
                _check_handler(lifecycle[hook], grace, f"{path}.lifecycle.{hook}", problems)
    for name in _PROBES:
        if container.get(name) is not None:
            _check_probe(container[name], name, f"{path}.{name}", problems)


def _check_probe(probe: JsonObject, name: str, path: str, problems: Problems) -> None:
    _check_handler(probe, None, path, problems)
    for field in (
        "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold",
        "failureThreshold",
    ):  # fmt: skip
        check_nonnegative(probe.get(field), f"{path}.{field}", problems)
    grace = probe.get("terminationGracePeriodSeconds")
    grace_path = f"{path}.terminationGracePeriodSeconds"
    if grace is not None and grace <= 0:
        problems.invalid(grace_path, grace, "must be greater than 0")
    if name == "readinessProbe":
        if grace is not None:
            problems.invalid(grace_path, grace, "must not be set for readinessProbes")
    elif probe.get("successThreshold", 1) != 1:
        problems.invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1")


def _check_handler(handler: JsonObject, grace: Any, path: str, problems: Problems) -> None:
    given = [key for key in _HANDLERS if handler.get(key) is not None]
    if not given:
        problems.required(path, "must specify a handler type")
        return
    for key in given[1:]:
        problems.forbidden(f"{path}.{key}", "may not specify more than 1 handler type")
    key, here = given[0], f"{path}.{given[0]}"
    action = handler[key]
    if key == "exec" and not action.get("command"):
        problems.required(f"{here}.command")
    elif key == "httpGet":
        _check_http_get(action, here, problems)
    elif key in ("tcpSocket", "grpc"):
        check_port_or_name(action.get("port"), f"{here}.port", problems)
    elif key == "sleep" and grace is not None and not 0 <= action.get("seconds", 0) <= grace:
        text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        problems.invalid(here, action.get("seconds", 0), text)


def _check_http_get(action: JsonObject, path: str, problems: Problems) -> None:
    if not action.get("path"):
        problems.required(f"{path}.path")
    check_port_or_name(action.get("port"), f"{path}.port", problems)
    if action.get("scheme") not in ("HTTP", "HTTPS"):
        problems.unsupported(f"{path}.scheme", action.get("scheme") or "", ("HTTP", "HTTPS"))
    for header in action.get("httpHeaders") or ():
        if not _HEADER.fullmatch(header.get("name") or ""):
            problems.invalid(f"{path}.httpHeaders", header.get("name") or "", _HEADER_TEXT)


def _check_init(spec: JsonObject, container: JsonObject, path: str, problems: Problems) -> None:
    policy = container.get("restartPolicy")  # others than Always are not served yet
    _check_host_ports([container], f"{path.rpartition('[')[0]}", problems)
    if policy == "Always":
        _check_life(spec, container, path, problems)
        return
    for field in ("lifecycle", *_PROBES):
        if container.get(field) is not None:
            problems.forbidden(f"{path}.{field}", _INIT_ONLY)


def _check_ephemeral(container: JsonObject, path: str, problems: Problems) -> None:
    for field in _EPHEMERAL_FORBIDDEN:
        if container.get(field) is not None:
            problems.forbidden(f"{path}.{field}", _EPHEMERAL)
    if container.get("resources"):
        problems.forbidden(f"{path}.resources", _EPHEMERAL)
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        for field in ("subPath", "subPathExpr"):
            if mount.get(field):
                problems.forbidden(f"{path}.volumeMounts[{index}].{field}", _EPHEMERAL)
