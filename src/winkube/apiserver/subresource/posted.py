"""Bodies that are acted on and not kept: read as closely as objects that are."""

from typing import Final

from winkube.api.roundtrip import as_given
from winkube.apiserver.apply.managers import track_posted
from winkube.apiserver.apply.owner import author
from winkube.apiserver.body import decode_as, read_body
from winkube.apiserver.call import Call
from winkube.apiserver.form.spoken import spoken_kind
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.accept import accept
from winkube.apiserver.registry.core import Registry
from winkube.apiserver.registry.owners import drop_repeated_owners
from winkube.apiserver.registry.update import require_namespace
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject

# Versions that are still spoken, though nothing else of theirs is served.
_OLDER: Final = {"Eviction": ("policy/v1beta1",)}
# Parts whose answer is not the body: without webhooks nobody sees who wrote what of it.
_ANSWERED: Final = frozenset({"binding", "eviction"})
# To these a uid is a condition.
_PRESERVING: Final = frozenset({"binding", "token"})
_SYSTEM_FIELDS: Final = (
    "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
)  # fmt: skip


async def read_posted(registry: Registry, call: Call) -> tuple[JsonObject, WriteOptions]:
    """The body with its defaults, placed in the namespace of the request; and how to act on it."""
    kind = spoken_kind(call.served.kind, call.target.subresource)
    raw = await read_body(call.request)
    options = WriteOptions.parse(call.user, call.query, "Create")
    options.agent = call.request.headers.get("User-Agent", "")
    options.weight = len(raw)
    call.warnings = options.warnings
    document = await decode_as(kind.kind, raw, call.request)
    if isinstance(document, dict) and document.get("apiVersion") in _OLDER.get(kind.kind, ()):
        document["apiVersion"] = kind.api_version
    obj = await registry.work(options, accept, registry.schema, kind, document, options, raw=raw)
    _place(call, obj)
    drop_repeated_owners(obj, options.warnings, admitted=False)
    definition = registry.schema.for_kind(kind.gvk)
    part = call.target.subresource
    is_shown = part not in _ANSWERED or registry.admission.asks_others(call.served)
    if definition is not None and is_shown:
        owner = author(options.manager, kind.api_version, part)
        with as_given(options.emptied):
            track_posted(definition.shape, obj, owner, to_rfc3339(registry.clock.now()))
    return obj, options


def _place(call: Call, obj: JsonObject) -> None:
    namespace, metadata = call.target.namespace, obj["metadata"]
    if call.target.subresource not in _PRESERVING:
        for name in _SYSTEM_FIELDS:
            metadata.pop(name, None)
    if namespace:
        require_namespace(obj, namespace)
        metadata["namespace"] = namespace
    else:
        metadata.pop("namespace", None)
