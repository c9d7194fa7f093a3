"""Admission of what is not kept: connections, bindings, evictions, tokens, questions."""

from winkube.api.errors import BadRequestError
from winkube.apiserver.admission.chain import Admission, Chain
from winkube.apiserver.call import Call
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.spoken import spoken_kind
from winkube.base.types import JsonObject


async def admit_connection(admission: Chain, call: Call, fields: JsonObject) -> JsonObject:
    """The options of the connection, as those left them who were asked."""
    if call.query.get("dryRun"):
        raise BadRequestError("dryRun is not supported")
    kind = spoken_kind(call.served.kind, call.target.subresource)
    options = {"kind": kind.kind, "apiVersion": kind.api_version, **fields}
    await admission.ask(
        Admission(
            "CONNECT",
            call.served,
            *call.place,
            call.user,
            options,
            subresource=call.target.subresource,
            speaks=kind,
            warnings=call.warnings,
        )
    )
    return options


async def admit_creation(
    admission: Chain, call: Call, name: str, obj: JsonObject, options: WriteOptions
) -> None:
    """``obj`` is changed in place by those who are asked."""
    await admission.ask(
        Admission(
            "CREATE",
            call.served,
            call.target.namespace,
            name,
            call.user,
            obj,
            subresource=call.target.subresource,
            dry_run=options.dry_run,
            options=options.said,
            speaks=spoken_kind(call.served.kind, call.target.subresource),
            warnings=call.warnings,
        )
    )
