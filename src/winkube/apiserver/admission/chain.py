"""The admission chain: steps complete the candidate, it is validated, other steps judge the result.

A step is in one list or in both: ``admit`` may change the candidate, ``validate`` only looks. As
upstream, the candidate is prepared and validated by its kind between the two.
"""

from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, runtime_checkable

from winkube.api.errors import ForbiddenError
from winkube.api.kinds import Kind
from winkube.apiserver.auth.user import User
from winkube.apiserver.served import Served
from winkube.base.types import JsonObject

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]
Undo = Callable[[], Awaitable[None]]


@dataclass(slots=True)
class Admission:
    """``obj`` is None on deletion, ``old`` on creation; mutating steps change ``obj`` in place."""

    operation: Operation
    served: Served
    namespace: str
    name: str
    user: User
    obj: JsonObject | None = None
    old: JsonObject | None = None
    subresource: str = ""
    dry_run: bool = False
    options: JsonObject | None = None
    # The kind of ``obj`` where it is not the resource's own (``spoken``).
    speaks: Kind | None = None
    # False where others were asked already, in the form that they know.
    asks: bool = True
    # What the client is told beside the answer.
    warnings: list[str] = field(default_factory=list)
    # What steps took for this write: given back if it does not happen.
    undo: list[Undo] = field(default_factory=list)
    # A step that changed what others have seen asks for a second round; steps may keep notes.
    wants_second_round: bool = False
    is_second_round: bool = False
    memory: dict[str, object] = field(default_factory=dict)

    @property
    def kind(self) -> Kind:
        return self.speaks or self.served.kind

    def is_for(self, plural: str, group: str = "") -> bool:
        kind = self.served.kind
        return kind.plural == plural and kind.group == group and not self.subresource

    @property
    def shown_name(self) -> str:
        """As refusals name the object: a generated name may not be known yet."""
        metadata = (self.obj or {}).get("metadata") or {}
        return str(self.name or metadata.get("name") or metadata.get("generateName") or "Unknown")

    def forbidden(self, cause: str) -> ForbiddenError:
        kind = self.served.kind
        details: dict[str, object] = {"name": self.shown_name}
        if kind.group:
            details["group"] = kind.group
        details["kind"] = kind.plural
        return ForbiddenError(
            f'{kind.group_resource} "{self.shown_name}" is forbidden: {cause}', details=details
        )

    async def give_back(self) -> None:
        """The write did not happen."""
        while self.undo:
            await self.undo.pop()()


class Step(Protocol):
    """May name the resources it is ``about`` (``deployments.apps``): others skip it.

    It may also say what its word about a new pod depends on beside the request: ``sees`` is equal
    as long as that is as it was, and None where the step has to be asked.
    """

    async def admit(self, request: Admission) -> None: ...


@runtime_checkable
class Asking(Protocol):
    """A step that asks others can name those that may be concerned, whatever the object is."""

    def asked(self, request: Admission) -> frozenset[str]: ...


class Validator(Protocol):
    async def validate(self, request: Admission) -> None: ...


Sight = Callable[[str, JsonObject, User], Hashable | None]
NOTHING_SEEN: Final = ()


def _blind(namespace: str, pod: JsonObject, user: User) -> None:
    """Of a step that does not say what it sees."""


class Chain:
    def __init__(
        self,
        mutating: Sequence[Step] = (),
        validating: Sequence[Validator] = (),
        *,
        close: Undo | None = None,
    ) -> None:
        self._mutating = tuple(mutating)
        self._validating = tuple(validating)
        self._close = close
        self._by_resource: dict[str, tuple[tuple[Step, ...], tuple[Validator, ...]]] = {}
        self._sights: dict[str, Sequence[Sight]] = {}

    async def admit(self, request: Admission) -> None:
        await _admit(self._steps(request.served)[0], request)

    def asks_others(self, served: Served) -> bool:
        """Whether somebody else may be shown what is written."""
        return any(_asks(step) for steps in self._steps(served) for step in steps)

    def asked(self, request: Admission) -> frozenset[str]:
        """Who may be shown what is written, as far as can be said without looking at it."""
        steps = dict.fromkeys(step for part in self._steps(request.served) for step in part)
        named = (step.asked(request) for step in steps if _asks(step) and isinstance(step, Asking))
        return frozenset().union(*named)

    async def ask_changers(self, request: Admission) -> None:
        """What is not kept, like a connection or a question, is for the steps that ask others."""
        await _admit([step for step in self._steps(request.served)[0] if _asks(step)], request)

    async def ask_judges(self, request: Admission) -> None:
        for step in self._steps(request.served)[1]:
            if _asks(step):
                await step.validate(request)

    def world(
        self, served: Served, namespace: str, pod: JsonObject, user: User
    ) -> tuple[Hashable, ...] | None:
        """What the steps see beside a new pod; None: they have to be asked."""
        resource = served.kind.group_resource
        sights = self._sights.get(resource)
        if sights is None:
            steps = dict.fromkeys(step for part in self._steps(served) for step in part)
            sights = self._sights[resource] = [getattr(step, "sees", _blind) for step in steps]
        seen: list[Hashable] = []
        for sight in sights:
            found = sight(namespace, pod, user)
            if found is None:
                return None
            seen.append(found)
        return tuple(seen)

    async def close(self) -> None:
        if self._close is not None:
            await self._close()

    async def validate(self, request: Admission) -> None:
        for step in self._steps(request.served)[1]:
            await step.validate(request)

    def _steps(self, served: Served) -> tuple[tuple[Step, ...], tuple[Validator, ...]]:
        resource = served.kind.group_resource
        found = self._by_resource.get(resource)
        if found is None:
            mutating = tuple(step for step in self._mutating if _is_about(step, resource))
            validating = tuple(step for step in self._validating if _is_about(step, resource))
            found = self._by_resource[resource] = (mutating, validating)
        return found


async def _admit(steps: Sequence[Step], request: Admission) -> None:
    for step in steps:
        await step.admit(request)
    if request.wants_second_round:
        request.is_second_round = True
        for step in steps:
            await step.admit(request)


def _asks(step: Any) -> bool:
    return bool(getattr(step, "asks_others", False))


def _is_about(step: Any, resource: str) -> bool:
    about = getattr(step, "about", None)
    return about is None or resource in about


class Judging:
    """A step that looks at the finished object, as a validator."""

    def __init__(self, step: Step, about: str) -> None:
        self.about = frozenset({about})
        self._step = step

    async def validate(self, request: Admission) -> None:
        await self._step.admit(request)
