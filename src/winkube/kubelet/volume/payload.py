"""The files of ConfigMap, Secret, downward API and projected volumes."""

import base64
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.kubelet.errors import KubeletError
from winkube.kubelet.objects import decode_secret
from winkube.kubelet.pod import identity
from winkube.kubelet.spec.fields import NodeFacts, field_value, resource_value
from winkube.kubelet.volume.atomic import File

DEFAULT_MODE: Final = 0o644
PROJECTED: Final = ("configMap", "secret", "downwardAPI", "projected")

Files = dict[str, File]


@dataclass(frozen=True, slots=True)
class PayloadSource:
    """``lookup(kind, namespace, name)`` and ``token(pod, projection)``, both against the API."""

    lookup: Callable[[str, str, str], Awaitable[JsonObject | None]]
    token: Callable[[JsonObject, JsonObject], Awaitable[str]]
    facts: NodeFacts
    ips: tuple[str, ...] = ()


async def build_files(pod: JsonObject, volume: JsonObject, source: PayloadSource) -> Files:
    if "projected" in volume:
        projected = volume["projected"] or {}
        mode = _mode(projected.get("defaultMode"), DEFAULT_MODE)
        files: Files = {}
        for part in projected.get("sources") or []:
            files.update(await _part(pod, part, mode, source))
        return files
    kind = next(kind for kind in PROJECTED if kind in volume)
    part = dict(volume[kind] or {})
    if kind == "secret":
        part["name"] = part.get("secretName")
    return await _part(pod, {kind: part}, _mode(part.get("defaultMode"), DEFAULT_MODE), source)


async def _part(pod: JsonObject, part: JsonObject, mode: int, source: PayloadSource) -> Files:
    if "configMap" in part:
        return await _object_files(pod, "configMap", part["configMap"], mode, source)
    if "secret" in part:
        return await _object_files(pod, "secret", part["secret"], mode, source)
    if "downwardAPI" in part:
        return _downward_files(pod, part["downwardAPI"], mode, source)
    if "serviceAccountToken" in part:
        projection = part["serviceAccountToken"]
        token = await source.token(pod, projection)
        return {projection["path"]: File(token.encode(), mode)}
    raise KubeletError(f"unsupported projected source: {', '.join(sorted(part))}")


async def _object_files(
    pod: JsonObject, kind: str, part: JsonObject, mode: int, source: PayloadSource
) -> Files:
    name, namespace = part.get("name") or "", identity.namespace_of(pod)
    found = await source.lookup(kind, namespace, name)
    if found is None:
        if part.get("optional"):
            return {}
        raise KubeletError(f'{kind.lower()} "{name}" not found')
    data = _data(kind, found)
    items = part.get("items")
    if not items:
        return {key: File(content, mode) for key, content in data.items()}
    files: Files = {}
    for item in items:
        if item["key"] in data:
            files[item["path"]] = File(data[item["key"]], _mode(item.get("mode"), mode))
        elif not part.get("optional"):
            raise KubeletError(f"references non-existent {kind.lower()} key: {item['key']}")
    return files


def _data(kind: str, found: JsonObject) -> dict[str, bytes]:
    if kind == "secret":
        return decode_secret(found)
    text = {key: value.encode() for key, value in (found.get("data") or {}).items()}
    raw = {k: base64.b64decode(v or "") for k, v in (found.get("binaryData") or {}).items()}
    return {**text, **raw}


def _downward_files(pod: JsonObject, part: JsonObject, mode: int, source: PayloadSource) -> Files:
    files: Files = {}
    for item in part.get("items") or []:
        if item.get("fieldRef"):
            path = item["fieldRef"]["fieldPath"]
            text = field_value(pod, path, source.facts, source.ips)
        else:
            reference = item["resourceFieldRef"]
            text = resource_value(pod, reference, identity.containers(pod)[0], source.facts)
        files[item["path"]] = File(text.encode(), _mode(item.get("mode"), mode))
    return files


def _mode(value: Any, default: int) -> int:
    return default if value is None else int(value)
