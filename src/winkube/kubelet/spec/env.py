"""A container's environment: envFrom, env, then the service variables that are still free."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from winkube.base.types import JsonObject
from winkube.kubelet.errors import StartError
from winkube.kubelet.objects import decode_secret
from winkube.kubelet.spec.expansion import expand
from winkube.kubelet.spec.fields import NodeFacts, field_value, resource_value

CONFIG_ERROR: Final = "CreateContainerConfigError"
# Relaxed since 1.34: any printable ASCII but "=".
_NAME: Final = re.compile(r"[ -<>-~]+")

# (kind, namespace, name) -> the object, None when there is none.
Lookup = Callable[[str, str, str], Awaitable[JsonObject | None]]


@dataclass(frozen=True, slots=True)
class EnvSource:
    """Where values come from; ``services`` are the namespace's and the kubernetes service."""

    lookup: Lookup
    facts: NodeFacts
    services: Mapping[str, str]
    ips: tuple[str, ...] = ()


async def build_env(pod: JsonObject, container: JsonObject, source: EnvSource) -> dict[str, str]:
    result: dict[str, str] = {}
    for entry in container.get("envFrom") or []:
        result.update(await _from_object(pod, entry, source))
    for entry in container.get("env") or []:
        value = await _value(pod, container, entry, source, result)
        if value is not None:
            result[entry["name"]] = value
    for name, value in source.services.items():
        result.setdefault(name, value)
    return result


async def _from_object(pod: JsonObject, entry: JsonObject, source: EnvSource) -> dict[str, str]:
    kind = "configMap" if entry.get("configMapRef") else "secret"
    reference = entry.get(f"{kind}Ref") or {}
    data = await _data(pod, kind, reference, source)
    prefix = entry.get("prefix") or ""
    names = {prefix + key: value for key, value in (data or {}).items()}
    return {name: value for name, value in names.items() if _NAME.fullmatch(name)}


async def _value(
    pod: JsonObject,
    container: JsonObject,
    entry: JsonObject,
    source: EnvSource,
    known: Mapping[str, str],
) -> str | None:
    origin = entry.get("valueFrom")
    if not origin:
        return expand(entry.get("value") or "", {**source.services, **known})
    if "fieldRef" in origin:
        return field_value(pod, origin["fieldRef"]["fieldPath"], source.facts, source.ips)
    if "resourceFieldRef" in origin:
        return resource_value(pod, origin["resourceFieldRef"], container, source.facts)
    kind = "configMap" if "configMapKeyRef" in origin else "secret"
    return await _key(pod, kind, origin[f"{kind}KeyRef"], source)


async def _key(pod: JsonObject, kind: str, reference: JsonObject, source: EnvSource) -> str | None:
    data = await _data(pod, kind, reference, source)
    if data is None:
        return None
    key = reference["key"]
    if key in data:
        return data[key]
    if reference.get("optional"):
        return None
    label = "ConfigMap" if kind == "configMap" else "Secret"
    place = f"{pod['metadata'].get('namespace')}/{reference['name']}"
    raise StartError(CONFIG_ERROR, f"couldn't find key {key} in {label} {place}")


async def _data(
    pod: JsonObject, kind: str, reference: JsonObject, source: EnvSource
) -> dict[str, str] | None:
    name = reference["name"]
    found = await source.lookup(kind, pod["metadata"].get("namespace") or "default", name)
    if found is None:
        if reference.get("optional"):
            return None
        raise StartError(CONFIG_ERROR, f'{kind.lower()} "{name}" not found')
    if kind == "configMap":
        return dict(found.get("data") or {})
    return {key: raw.decode(errors="replace") for key, raw in decode_secret(found).items()}


def service_variables(
    services: Iterable[JsonObject], namespace: str, *, links: bool
) -> dict[str, str]:
    """Docker-link style variables: the kubernetes service always, the namespace's if asked for."""
    chosen: dict[str, JsonObject] = {}
    for service in services:
        place, name = service["metadata"].get("namespace"), service["metadata"]["name"]
        if service["spec"].get("clusterIP") in (None, "", "None"):
            continue
        master = place == "default" and name == "kubernetes"
        if (links and place == namespace) or (master and name not in chosen):
            chosen[name] = service
    variables: dict[str, str] = {}
    for name in sorted(chosen):
        variables.update(_variables_of(name, chosen[name]["spec"]))
    return variables


def _variables_of(name: str, spec: JsonObject) -> dict[str, str]:
    prefix, address = name.upper().replace("-", "_"), spec["clusterIP"]
    ports = spec.get("ports") or []
    if not ports:
        return {}
    result = {f"{prefix}_SERVICE_HOST": address, f"{prefix}_SERVICE_PORT": str(ports[0]["port"])}
    for port in ports:
        if port.get("name"):
            label = port["name"].upper().replace("-", "_")
            result[f"{prefix}_SERVICE_PORT_{label}"] = str(port["port"])
    host = f"[{address}]" if ":" in address else address
    for index, port in enumerate(ports):
        protocol = port.get("protocol") or "TCP"
        url = f"{protocol.lower()}://{host}:{port['port']}"
        if index == 0:
            result[f"{prefix}_PORT"] = url
        stem = f"{prefix}_PORT_{port['port']}_{protocol}"
        result |= {stem: url, f"{stem}_PROTO": protocol.lower(),
                   f"{stem}_PORT": str(port["port"]), f"{stem}_ADDR": address}  # fmt: skip
    return result
