"""Pods made and removed for an owner, with the events that say so (upstream: RealPodControl).

Whatever is asked for is expected: until the cache shows it, the owner is not to be touched again.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

from winkube.api.errors import ApiError, ConflictError, ForbiddenError, NotFoundError
from winkube.api.meta import key_of, name_of, namespace_of, uid_of
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.resource import PODS
from winkube.controllers.batch import Failure, all_at_once, first_failure, slow_start
from winkube.controllers.controller import Controller
from winkube.controllers.expectations import Expectations
from winkube.controllers.pace import Pace

Prepare = Callable[[JsonObject], Awaitable[None]]
# The pod is gone, or another has its name.
_GONE: Final = (NotFoundError, ConflictError)


class PodControl:
    """Speaks for one controller; failures are returned, so that a batch can be finished."""

    def __init__(self, controller: Controller, expected: Expectations) -> None:
        self._controller = controller
        self._client = controller.client
        self._expected = expected
        self._pace = Pace(controller.clock, controller.informer(PODS))

    async def create(
        self, owner: JsonObject, count: int, pods: Iterable[JsonObject]
    ) -> tuple[int, Failure | None]:
        """How many were made, and why not all: in batches that double while they succeed.

        There may be less without a failure, because it is others' turn: the owner is queued again.
        """
        key, todo = key_of(owner), iter(pods)
        queue, others_wait = self._controller.queue, self._controller.others_wait
        if count and (rest := self._pace.rest(owner)):
            queue.add_after(key, rest)
            return 0, None
        self._expected.expect_creations(key, count)
        done, failure = await slow_start(
            count, lambda: self._create_one(owner, next(todo)), others_wait
        )
        self._expected.created(key, count - done)
        self._pace.made(owner, done)
        if done < count and failure is None:
            queue.add(key)
        return done, None if is_ending_namespace(failure) else failure

    async def delete(
        self, owner: JsonObject, pods: Sequence[JsonObject], prepare: Prepare | None = None
    ) -> tuple[list[JsonObject], Failure | None]:
        """Which are leaving, and why not all; ``prepare`` is done to each first."""
        key = key_of(owner)
        for pod in pods:
            self._expected.expect_deletion(key, uid_of(pod))

        async def delete_one(pod: JsonObject) -> Failure | None:
            failure = await _attempt(prepare, pod) if prepare is not None else None
            failure = failure or await self._delete_one(owner, pod)
            if failure is not None:
                self._expected.deleted(key, uid_of(pod))
            return failure

        return _sort_out(pods, await all_at_once(pods, delete_one))

    async def stop(
        self, owner: JsonObject, pods: Sequence[JsonObject]
    ) -> tuple[list[JsonObject], Failure | None]:
        """As ``delete``, for an owner that has ended and will not count on what comes of it."""
        return _sort_out(pods, await all_at_once(pods, lambda pod: self._delete_one(owner, pod)))

    async def _create_one(self, owner: JsonObject, pod: JsonObject) -> Failure | None:
        try:
            created = await self._client.create(PODS, pod, namespace=namespace_of(owner))
        except (ApiError, TransportError) as error:
            if not is_ending_namespace(error):
                self._say(owner, "Warning", "FailedCreate", f"Error creating: {error}")
            return error
        self._say(owner, "Normal", "SuccessfulCreate", f"Created pod: {name_of(created)}")
        return None

    async def _delete_one(self, owner: JsonObject, pod: JsonObject) -> Failure | None:
        options = {"preconditions": {"uid": uid_of(pod)}}
        try:
            await self._client.delete(
                PODS, name_of(pod), namespace=namespace_of(pod), options=options
            )
        except _GONE as error:
            return error
        except (ApiError, TransportError) as error:
            self._say(owner, "Warning", "FailedDelete", f"Error deleting: {error}")
            return error
        self._say(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {name_of(pod)}")
        return None

    def _say(self, owner: JsonObject, *words: str) -> None:
        self._controller.event(owner, *words)


async def _attempt(step: Prepare, pod: JsonObject) -> Failure | None:
    try:
        await step(pod)
    except (ApiError, TransportError) as error:
        return error
    return None


def _sort_out(
    pods: Sequence[JsonObject], results: Sequence[Failure | None]
) -> tuple[list[JsonObject], Failure | None]:
    failures = [None if isinstance(each, _GONE) else each for each in results]
    leaving = [pod for pod, failure in zip(pods, failures, strict=True) if failure is None]
    return leaving, first_failure(failures)


def is_ending_namespace(error: Exception | None) -> bool:
    return isinstance(error, ForbiddenError) and "because it is being terminated" in str(error)
