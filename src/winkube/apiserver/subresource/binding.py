"""pods/binding: the scheduler's word, said once."""

from collections.abc import Mapping
from typing import Final

from aiohttp import web

from winkube.api.errors import BadRequestError, ConflictError, UnexplainedError
from winkube.api.go.text import quoted
from winkube.api.meta import set_condition
from winkube.apiserver.call import Call, not_allowed, reply_json
from winkube.apiserver.item import fields_of, made_of, read_field
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.core import Registry, get
from winkube.apiserver.registry.update import ModifiedError, modified
from winkube.apiserver.subresource.admitted import Creation
from winkube.apiserver.subresource.posted import read_posted
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject

_ATTEMPTS: Final = 8
SUCCESS: Final[JsonObject] = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}


class Binding:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def handle(self, call: Call) -> web.StreamResponse:
        if call.verb != "create":
            raise not_allowed()
        binding, options = await read_posted(self._registry, call)
        creation = Creation(self._registry.admission, call, binding, options)
        await creation.admit()
        metadata = binding["metadata"]
        name = call.target.name if call.target.subresource else metadata.get("name", "")
        if not name:
            raise BadRequestError("Name parameter required.")
        if metadata.get("name") != name:
            raise BadRequestError("name in URL does not match name in Binding object")
        node = _node(binding)
        await creation.validate()
        for attempt in range(_ATTEMPTS):
            try:
                await self._bind(call.target.namespace, name, node, binding, options)
            except ModifiedError:
                if attempt == _ATTEMPTS - 1:
                    raise
            else:
                break
        return reply_json(SUCCESS, 201, warnings=call.warnings)

    async def _bind(
        self, namespace: str, name: str, node: str, binding: JsonObject, options: WriteOptions
    ) -> None:
        served = self._registry.resources.core("pods")
        item = get(served, namespace, name)
        fields = fields_of(item.data)
        metadata, spec = fields_of(fields["metadata"]), fields_of(fields["spec"])
        _check_preconditions(metadata, name, binding["metadata"], dry_run=options.dry_run)
        _check(metadata, spec, name)
        if options.dry_run:
            return
        pod = made_of(fields)
        pod["metadata"] = made_of(metadata)
        pod["spec"] = {**made_of(spec), "nodeName": node}
        pod["status"] = read_field(fields, "status") or {}
        notes = (binding.get("metadata") or {}).get("annotations") or {}
        if notes:
            kept = read_field(metadata, "annotations") or {}
            pod["metadata"]["annotations"] = {**kept, **notes}
        now = to_rfc3339(self._registry.clock.now())
        condition = {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
        }
        set_condition(pod, condition, now)
        if await self._registry.storage.update(served, item, pod) is None:
            raise modified(served, name)


def _node(binding: JsonObject) -> str:
    target = binding.get("target") or {}
    kind, node = target.get("kind") or "Node", target.get("name") or ""
    faults = []
    if kind != "Node":
        supported = 'supported values: "Node", "<empty>"'
        faults.append(f"target.kind: Unsupported value: {quoted(kind)}: {supported}")
    if not node:
        faults.append("target.name: Required value")
    if faults:
        raise UnexplainedError(faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")
    return str(node)


def _check(metadata: Mapping[str, bytes], spec: Mapping[str, bytes], name: str) -> None:
    cause = ""
    if read_field(metadata, "deletionTimestamp"):
        cause = f"pod {name} is being deleted, cannot be assigned to a host"
    elif node := read_field(spec, "nodeName"):
        cause = f'pod {name} is already assigned to node "{node}"'
    elif read_field(spec, "schedulingGates"):
        cause = f"pod {name} has non-empty .spec.schedulingGates"
    if cause:
        raise ConflictError.of("pods/binding", name, cause)


def _check_preconditions(
    metadata: Mapping[str, bytes], name: str, said: JsonObject, *, dry_run: bool
) -> None:
    for what, key in (("UID", "uid"), ("ResourceVersion", "resourceVersion")):
        wanted = said.get(key)
        if wanted and wanted != (found := read_field(metadata, key)):
            # Of a trial the store is not asked, which would know its own prefix.
            prefix = "" if dry_run else "/registry"
            place = f"{prefix}/pods/{read_field(metadata, 'namespace')}/{name}"
            raise ConflictError.of(
                "pods",
                name,
                f"StorageError: invalid object, Code: 4, Key: {place}, ResourceVersion: 0, "
                f"AdditionalErrorMsg: Precondition failed: {what} in precondition: {wanted}, "
                f"{what} in object meta: {found}",
            )
