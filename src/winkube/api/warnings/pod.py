"""Pods and pod templates."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import orjson

from winkube.api import names
from winkube.api.addresses import address_warnings
from winkube.api.app_armor import is_stated_elsewhere
from winkube.api.memo import Memo
from winkube.api.validation.pod.pod_annotations import APP_ARMOR, SECCOMP, SECCOMP_POD
from winkube.api.validation.pod.resources import number_of
from winkube.api.validation.pod.security import each_container
from winkube.api.warnings.claim import claim_spec_warnings
from winkube.api.warnings.labels import label_warning, selector_warnings, term_warnings
from winkube.api.warnings.paths import overlap_warnings
from winkube.api.warnings.ports import port_warnings
from winkube.base.types import JsonObject

_LABEL_LENGTH: Final = 63
# Far more than an answer shows; things that all meet each other would yield millions.
MOST: Final = 10_000
_KNOWN: Final[Memo[tuple[str, ...]]] = Memo()
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_NO_SELECTOR: Final = "labelSelector: a null labelSelector results in matching no pod"
_SYSCTLS: Final = 'non-functional in v1.11+; use the "sysctls" field instead'
_OLD_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": _SYSCTLS,
    "security.alpha.kubernetes.io/unsafe-sysctls": _SYSCTLS,
}
_SECCOMP_TEXT: Final = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_APP_ARMOR_TEXT: Final = 'deprecated since v1.30; use the "appArmorProfile" field instead'
# By source of a volume, with upstream's spelling of it.
_OLD_VOLUMES: Final = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_SPELT: Final = {"storageos": "storageOS"}


def pod_warnings(obj: JsonObject) -> list[str]:
    """Of a new pod."""
    meta = obj.get("metadata") or {}
    found = []
    name = meta.get("name") or ""
    if len(name) > _LABEL_LENGTH or "." in name:  # valid, so nothing else makes it no label
        details = names.dns_label_problems(name)
        found.append(
            "metadata.name: this is used in the Pod's hostname, which can result in surprising "
            f"behavior; a DNS label is recommended: [{' '.join(details)}]"
        )
    spec, annotations = obj.get("spec") or {}, meta.get("annotations")
    if annotations:
        return [*found, *itertools.islice(_warnings(spec, annotations, ""), MOST)]
    known = _KNOWN.get(
        orjson.dumps(spec), lambda: tuple(itertools.islice(_warnings(spec, {}, ""), MOST))
    )
    return [*found, *known] if found or known else found


def pod_status_warnings(obj: JsonObject) -> Iterator[str]:
    status = obj.get("status") or {}
    for field in ("podIPs", "hostIPs"):
        for index, entry in enumerate(status.get(field) or ()):
            yield from address_warnings(entry.get("ip") or "", f"status.{field}[{index}].ip")


def template_warnings(template: JsonObject, path: str) -> Iterator[str]:
    """Of a workload's template; ``path`` is where it stands."""
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    return _warnings(template.get("spec") or {}, annotations, f"{path}.")


def _warnings(spec: JsonObject, annotations: JsonObject, prefix: str) -> Iterator[str]:
    """Most pods have few of these fields: what is not there costs nothing."""
    path, notes = f"{prefix}spec", f"{prefix}metadata.annotations"
    yield from _of_fields(_BEFORE_NOTES, spec, path)
    for key in annotations and _OLD_ANNOTATIONS:
        if key in annotations:
            yield f"{notes}[{key}]: {_OLD_ANNOTATIONS[key]}"
    yield from _of_fields(_BEFORE_CONTAINERS, spec, path)
    profile = (spec.get("securityContext") or {}).get("seccompProfile")
    if profile is None and SECCOMP_POD in annotations:
        yield f"{notes}[{SECCOMP_POD}]: {_SECCOMP_TEXT}"
    ports = False
    for container, here in each_container(spec, path):
        if annotations:
            yield from _container_notes(container, spec, annotations, notes, template=bool(prefix))
        yield from _container(container, here)
        ports = ports or bool(container.get("ports"))
    if ports:
        yield from port_warnings(spec, path)
    yield from _of_fields(_AFTER_CONTAINERS, spec, path)


def _of_fields(table: Iterable[tuple[str, "Find"]], spec: JsonObject, path: str) -> Iterator[str]:
    for field, find in table:
        if spec.get(field):
            yield from find(spec, path)


def _node_affinity(spec: JsonObject, spec_path: str) -> Iterator[str]:
    path = f"{spec_path}.affinity.nodeAffinity"
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()
    for index, term in enumerate(terms):
        here = f"{path}.{_REQUIRED}.nodeSelectorTerms[{index}]"
        yield from term_warnings(term, here, check_values=False)
    for index, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        here = f"{path}.{_PREFERRED}[{index}].preference"
        yield from term_warnings(weighted.get("preference") or {}, here, check_values=True)


def _spreading(spec: JsonObject, spec_path: str) -> Iterator[str]:
    path = f"{spec_path}.topologySpreadConstraints"
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        key = constraint.get("topologyKey") or ""
        old = label_warning(key)
        if old is not None:
            yield f"{path}[{index}].topologyKey: {key} is {old}"
        if constraint.get("labelSelector") is None:
            yield f"{path}[{index}].{_NO_SELECTOR}"


def _pod_affinity(spec: JsonObject, spec_path: str) -> Iterator[str]:
    path = f"{spec_path}.affinity"
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity = (spec.get("affinity") or {}).get(kind) or {}
        for index, term in enumerate(affinity.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{path}.{kind}.{_REQUIRED}[{index}].{_NO_SELECTOR}"
        for index, weighted in enumerate(affinity.get(_PREFERRED) or ()):
            if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                yield f"{path}.{kind}.{_PREFERRED}[{index}].podAffinityTerm.{_NO_SELECTOR}"


def _volumes(spec: JsonObject, spec_path: str) -> Iterator[str]:
    path = f"{spec_path}.volumes"
    for index, volume in enumerate(spec["volumes"]):
        for kind, text in _OLD_VOLUMES.items():
            if volume.get(kind) is not None:
                yield f"{path}[{index}].{_SPELT.get(kind, kind)}: {text}"
        template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
        if template:
            here = f"{path}[{index}].ephemeral.volumeClaimTemplate.spec"
            yield from claim_spec_warnings(template.get("spec") or {}, here)


def _secrets(spec: JsonObject, path: str) -> Iterator[str]:
    secrets = spec["imagePullSecrets"]
    yield from _repeated(secrets, "name", f"{path}.imagePullSecrets")
    for index, secret in enumerate(secrets):
        if not secret.get("name"):
            yield f'{path}.imagePullSecrets[{index}].name: invalid empty name ""'


def _grace(spec: JsonObject, path: str) -> Iterator[str]:
    if spec["terminationGracePeriodSeconds"] < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{path}.terminationGracePeriodSeconds: {text}"


def _name_servers(spec: JsonObject, path: str) -> Iterator[str]:
    for index, server in enumerate(spec["dnsConfig"].get("nameservers") or ()):
        yield from address_warnings(server, f"{path}.dnsConfig.nameservers[{index}]")


def _alias_addresses(spec: JsonObject, path: str) -> Iterator[str]:
    for index, alias in enumerate(spec["hostAliases"]):
        yield from address_warnings(alias.get("ip") or "", f"{path}.hostAliases[{index}].ip")


def _repeated(entries: Any, field: str, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        value = entry.get(field) or ""
        if value in seen:
            yield f'{path}[{index}].{field}: duplicate {field} "{value}"'
        seen.add(value)


_BYTES: Final = ("memory", "ephemeral-storage")


def _fraction(quantities: JsonObject | None, name: str, path: str) -> str:
    """What is wrong with a number of bytes that is none; nothing for most."""
    quantity = quantities.get(name) if quantities else None
    if quantity is None or number_of(quantity).denominator == 1:
        return ""
    text = f'fractional byte value "{quantity}" is invalid, must be an integer'
    return f"{path}[{name}]: {text}"


def _overhead(spec: JsonObject, path: str) -> Iterator[str]:
    for name in _BYTES:
        text = _fraction(spec["overhead"], name, f"{path}.overhead")
        if text:
            yield text


def _container_notes(
    container: JsonObject, spec: JsonObject, annotations: JsonObject, path: str, *, template: bool
) -> Iterator[str]:
    if not annotations:
        return
    name, context = container.get("name") or "", container.get("securityContext") or {}
    if context.get("seccompProfile") is None and SECCOMP + name in annotations:
        yield f"{path}[{SECCOMP}{name}]: {_SECCOMP_TEXT}"
    # New pods are told when the annotation is copied to the field.
    key = APP_ARMOR + name
    stated = key not in annotations or context.get("appArmorProfile") is not None
    if template and not stated and not is_stated_elsewhere(annotations[key], spec):
        yield f"{path}[{key}]: {_APP_ARMOR_TEXT}"


def _container(container: JsonObject, path: str) -> Iterator[str]:
    resources = container.get("resources")
    if resources:
        for name in _BYTES:
            for field in ("limits", "requests"):
                text = _fraction(resources.get(field), name, f"{path}.resources.{field}")
                if text:
                    yield text
    if len(container.get("env") or ()) < 2:
        return
    seen: set[str] = set()
    for index, variable in enumerate(container.get("env") or ()):
        name, value = variable.get("name") or "", variable.get("value") or ""
        reference = f"$({name})"
        hides = variable.get("valueFrom") or value == reference or reference not in value
        if name in seen and hides:
            text = f'hides previous definition of "{name}", which may be dropped when using apply'
            yield f"{path}.env[{index}]: {text}"
        seen.add(name)


Find = Callable[[JsonObject, str], Iterable[str]]
# In upstream's order, by the field that has to be there.
_BEFORE_NOTES: Final[tuple[tuple[str, Find], ...]] = (
    ("nodeSelector", lambda spec, path: selector_warnings(
        spec["nodeSelector"], f"{path}.nodeSelector")),
    ("affinity", _node_affinity),
    ("topologySpreadConstraints", _spreading),
)  # fmt: skip
_BEFORE_CONTAINERS: Final[tuple[tuple[str, Find], ...]] = (
    ("volumes", _volumes),
    ("volumes", lambda spec, path: overlap_warnings(spec["volumes"])),
    ("hostAliases", lambda spec, path: _repeated(
        spec["hostAliases"], "ip", f"{path}.hostAliases")),
    ("imagePullSecrets", _secrets),
    ("overhead", _overhead),
)  # fmt: skip
_AFTER_CONTAINERS: Final[tuple[tuple[str, Find], ...]] = (
    ("terminationGracePeriodSeconds", _grace),
    ("affinity", _pod_affinity),
    ("dnsConfig", _name_servers),
    ("hostAliases", _alias_addresses),
)
