"""The server half of CRI: bind a table of handlers to both services."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import grpc
import grpc.aio

from winkube.wire import cri, cri_table

Handler = Callable[[Any, Any], Awaitable[Any]]


def add_cri_services(server: Any, handlers: Mapping[str, Handler]) -> None:
    """Serve these methods; every other CRI method answers UNIMPLEMENTED by itself."""
    known = {method.rstrip("*") for methods in cri_table.METHODS.values() for method in methods}
    unknown = set(handlers) - known
    if unknown:
        raise ValueError(f"not CRI methods: {', '.join(sorted(unknown))}")
    for service, methods in cri_table.METHODS.items():
        bound = {
            name: _bind(name, handlers[name], streams=method.endswith("*"))
            for method in methods
            if (name := method.rstrip("*")) in handlers
        }
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(f"{cri.PACKAGE}.{service}", bound),)
        )


def _bind(method: str, handler: Any, *, streams: bool) -> Any:
    request, _ = cri.method_types(method)
    make = grpc.unary_stream_rpc_method_handler if streams else grpc.unary_unary_rpc_method_handler
    return make(
        handler,
        request_deserializer=request.FromString,
        response_serializer=lambda message: message.SerializeToString(),
    )
