"""The admission chain: steps run in order on the candidate, each may complete or refuse it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from winkube.apiserver.auth.user import User
from winkube.apiserver.served import Served
from winkube.base.types import JsonObject

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


@dataclass(slots=True)
class Admission:
    """``obj`` is None on deletion, ``old`` on creation; steps change ``obj`` in place."""

    operation: Operation
    served: Served
    namespace: str
    name: str
    user: User
    obj: JsonObject | None = None
    old: JsonObject | None = None
    subresource: str = ""
    dry_run: bool = False

    def is_for(self, plural: str, group: str = "") -> bool:
        kind = self.served.kind
        return kind.plural == plural and kind.group == group and not self.subresource


class Step(Protocol):
    async def admit(self, request: Admission) -> None: ...


class Chain:
    def __init__(self, steps: Sequence[Step] = ()) -> None:
        self._steps = tuple(steps)

    async def admit(self, request: Admission) -> None:
        for step in self._steps:
            await step.admit(request)
