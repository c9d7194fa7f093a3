"""A CRI client over a Unix socket: one channel, every method by name.

gRPC is loaded with the first call: a process that has loaded it must not fork any more, and the
supervisor, which forks, loads everything else that its children need.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from winkube.base.errors import WinkubeError
from winkube.wire import cri, cri_table

if TYPE_CHECKING:
    import grpc
    import grpc.aio

_SERVICE_OF: Final = {
    method.rstrip("*"): service
    for service, methods in cri_table.METHODS.items()
    for method in methods
}
# Pod logs and lists of hundreds of containers pass gRPC's 4 MiB default (kubelet uses 16 MiB too).
_MAX_MESSAGE: Final = 16 << 20


class CriError(WinkubeError):
    """The runtime refused a call; ``code`` is the gRPC status."""

    def __init__(self, method: str, code: "grpc.StatusCode", message: str) -> None:
        super().__init__(message or f"{method} failed: {code.name}")
        self.method, self.code, self.message = method, code, message

    @property
    def not_found(self) -> bool:
        return self.code.name == "NOT_FOUND"


class CriClient:
    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self._channel: grpc.aio.Channel | None = None
        self._calls: dict[str, Any] = {}

    async def call(self, method: str, request: Any, *, timeout: float | None = 120.0) -> Any:
        """Call one method; a failure raises CriError with the runtime's own words."""
        import grpc.aio

        stub = self._calls.get(method) or self._bind(method)
        try:
            return await stub(request, timeout=timeout)
        except grpc.aio.AioRpcError as error:
            raise CriError(method, error.code(), error.details() or "") from error

    async def close(self) -> None:
        if self._channel is not None:
            await self._channel.close(None)
        self._channel, self._calls = None, {}

    def _bind(self, method: str) -> Any:
        import grpc.aio

        if self._channel is None:
            self._channel = grpc.aio.insecure_channel(
                f"unix://{self.socket}",
                options=[
                    ("grpc.max_receive_message_length", _MAX_MESSAGE),
                    ("grpc.max_send_message_length", _MAX_MESSAGE),
                    # The runtime may be restarted at any time: look for it again at once.
                    ("grpc.initial_reconnect_backoff_ms", 50),
                    ("grpc.max_reconnect_backoff_ms", 500),
                    ("grpc.default_authority", "localhost"),
                ],
            )
        _, response = cri.method_types(method)
        self._calls[method] = self._channel.unary_unary(
            f"/{cri.PACKAGE}.{_SERVICE_OF[method]}/{method}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=response.FromString,
        )
        return self._calls[method]
