"""Pods made and removed for an owner, with the events that say so (upstream: RealPodControl)."""

from typing import Any

from winkube.api.errors import ApiError, ForbiddenError, NotFoundError
from winkube.api.meta import name_of, namespace_of
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.resource import PODS
from winkube.controllers.controller import Controller

Failure = ApiError | TransportError


class PodControl:
    """Speaks for one controller; failures are returned, so that a batch can be finished."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._client = controller.client

    async def create(self, owner: JsonObject, pod: JsonObject) -> Failure | None:
        try:
            created = await self._client.create(PODS, pod, namespace=namespace_of(owner))
        except (ApiError, TransportError) as error:
            if not is_ending_namespace(error):
                self._say(owner, "Warning", "FailedCreate", f"Error creating: {error}")
            return error
        self._say(owner, "Normal", "SuccessfulCreate", f"Created pod: {name_of(created)}")
        return None

    async def delete(self, owner: JsonObject, pod: JsonObject) -> Failure | None:
        """Ask for the pod's end; one that is gone already is a NotFoundError."""
        try:
            await self._client.delete(PODS, name_of(pod), namespace=namespace_of(pod))
        except NotFoundError as error:
            return error
        except (ApiError, TransportError) as error:
            self._say(owner, "Warning", "FailedDelete", f"Error deleting: {error}")
            return error
        self._say(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {name_of(pod)}")
        return None

    def _say(self, owner: JsonObject, *words: Any) -> None:
        self._controller.event(owner, *words)


def is_ending_namespace(error: Exception | None) -> bool:
    return isinstance(error, ForbiddenError) and "because it is being terminated" in str(error)
