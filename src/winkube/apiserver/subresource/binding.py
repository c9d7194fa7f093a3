"""pods/binding: the scheduler's word, said once."""

from typing import Final

from aiohttp import web

from winkube.api.errors import BadRequestError, ConflictError, UnexplainedError
from winkube.api.meta import set_condition
from winkube.apiserver.body import decode_typed, read_body
from winkube.apiserver.call import Call, not_allowed, reply_json
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.core import Registry, get
from winkube.apiserver.registry.update import ModifiedError, store_update
from winkube.apiserver.subresource.admitted import Creation, require_types
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
        options = WriteOptions.parse(call.user, call.query, "Create")
        raw = await read_body(call.request)
        binding = await decode_typed("Binding", "core", raw, call.request)
        require_types(self._registry.schema, call, binding)
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
        return reply_json(SUCCESS, 201)

    async def _bind(
        self, namespace: str, name: str, node: str, binding: JsonObject, options: WriteOptions
    ) -> None:
        served = self._registry.resources.core("pods")
        item = get(served, namespace, name)
        pod = item.load()
        spec, metadata = pod["spec"], pod["metadata"]
        _check(pod, name, binding)
        spec["nodeName"] = node
        notes = (binding.get("metadata") or {}).get("annotations") or {}
        if notes:
            metadata["annotations"] = {**(metadata.get("annotations") or {}), **notes}
        now = to_rfc3339(self._registry.clock.now())
        condition = {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
        }
        set_condition(pod, condition, now)
        await store_update(self._registry, served, item, pod, options)


def _node(binding: JsonObject) -> str:
    target = binding.get("target") or {}
    kind, node = target.get("kind") or "Node", target.get("name") or ""
    faults = []
    if kind != "Node":
        supported = 'supported values: "Node", "<empty>"'
        faults.append(f'target.kind: Unsupported value: "{kind}": {supported}')
    if not node:
        faults.append("target.name: Required value")
    if faults:
        raise UnexplainedError(faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")
    return str(node)


def _check(pod: JsonObject, name: str, binding: JsonObject) -> None:
    uid = (binding.get("metadata") or {}).get("uid")
    spec, metadata = pod["spec"], pod["metadata"]
    cause = ""
    if uid and uid != metadata.get("uid"):
        place = f"/registry/pods/{metadata.get('namespace', '')}/{name}"
        raise ConflictError.of(
            "pods",
            name,
            f"StorageError: invalid object, Code: 4, Key: {place}, ResourceVersion: 0, "
            f"AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object "
            f"meta: {metadata.get('uid')}",
        )
    if metadata.get("deletionTimestamp"):
        cause = f"pod {name} is being deleted, cannot be assigned to a host"
    elif spec.get("nodeName"):
        cause = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    elif spec.get("schedulingGates"):
        cause = f"pod {name} has non-empty .spec.schedulingGates"
    if cause:
        raise ConflictError.of("pods/binding", name, cause)
