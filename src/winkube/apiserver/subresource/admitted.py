"""Admission of what is not kept: connections, bindings, evictions, tokens, questions."""

from winkube.api.errors import BadRequestError
from winkube.apiserver.admission.chain import Admission, Chain
from winkube.apiserver.call import Call
from winkube.apiserver.form.spoken import spoken_kind
from winkube.apiserver.options import WriteOptions
from winkube.base.types import JsonObject


async def admit_connection(admission: Chain, call: Call, fields: JsonObject) -> JsonObject:
    """The options of the connection, as those left them who were asked."""
    if call.query.get("dryRun"):
        raise BadRequestError("dryRun is not supported")
    kind = spoken_kind(call.served.kind, call.target.subresource)
    options = {"kind": kind.kind, "apiVersion": kind.api_version, **fields}
    request = Admission(
        "CONNECT",
        call.served,
        *call.place,
        call.user,
        options,
        subresource=call.target.subresource,
        speaks=kind,
        warnings=call.warnings,
    )
    await admission.ask_changers(request)
    await admission.ask_judges(request)
    return options


class Creation:
    """Admission of an object that is made to be acted on; changed in place by those asked."""

    def __init__(
        self, admission: Chain, call: Call, obj: JsonObject, options: WriteOptions
    ) -> None:
        self._admission = admission
        kind = spoken_kind(call.served.kind, call.target.subresource)
        metadata = obj["metadata"] = {**(obj.get("metadata") or {})}
        if kind.namespaced:
            metadata["namespace"] = metadata.get("namespace") or call.target.namespace
        obj["kind"], obj["apiVersion"] = kind.kind, kind.api_version
        self._request = Admission(
            "CREATE",
            call.served,
            call.target.namespace,
            call.target.name or metadata.get("name") or "",
            call.user,
            obj,
            subresource=call.target.subresource,
            dry_run=options.dry_run,
            options=options.said,
            speaks=kind,
            warnings=call.warnings,
        )

    async def admit(self) -> None:
        await self._admission.ask_changers(self._request)

    async def validate(self) -> None:
        await self._admission.ask_judges(self._request)
