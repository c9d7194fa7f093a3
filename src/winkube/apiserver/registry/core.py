"""What every verb works with, and the checks they share."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, ParamSpec, TypeVar

from winkube.aio.aside import Aside
from winkube.api.errors import BadRequestError, NotFoundError
from winkube.api.kinds import Kind
from winkube.api.schema import Schema
from winkube.apiserver.admission.chain import Chain
from winkube.apiserver.chance import Chance
from winkube.apiserver.item import Item
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.hook import Finish, Hook, nothing_to_finish
from winkube.apiserver.registry.turns import Turns
from winkube.apiserver.served import Resources, Served
from winkube.apiserver.storage import Storage
from winkube.base.clock import Clock
from winkube.base.types import JsonObject

Given = ParamSpec("Given")
Result = TypeVar("Result")

# Work on more bytes than this would be felt by others.
_HEAVY: Final = 16 * 1024
_BAD_SEGMENTS: Final = (".", "..")
MODIFIED: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


@dataclass(frozen=True, slots=True)
class Registry:
    resources: Resources
    storage: Storage
    schema: Schema
    admission: Chain
    clock: Clock
    chance: Chance
    hooks: Mapping[str, Hook] = field(default_factory=dict)  # by storage prefix
    turns: Turns = field(default_factory=Turns)
    aside: Aside = field(default_factory=Aside)

    async def work(
        self,
        options: WriteOptions,
        function: Callable[Given, Result],
        *args: Given.args,
        **kwargs: Given.kwargs,
    ) -> Result:
        """Call what looks at its arguments alone; with a large object, while others are served."""
        if options.weight < _HEAVY:
            return function(*args, **kwargs)
        work = functools.partial(function, *args, **kwargs)
        return await self.aside.run(options.user.tenant, work)

    def begin(
        self,
        served: Served,
        new: JsonObject | None,
        old: JsonObject | Item | None,
        *,
        dry_run: bool = False,
    ) -> Finish:
        """Let the kind's hook take what the write needs beyond its object."""
        hook = self.hooks.get(served.prefix)
        if hook is None:
            return nothing_to_finish
        before = old.load() if isinstance(old, Item) else old
        return hook.begin(new, before, dry_run=dry_run)


def check_name(name: str) -> None:
    """Names are part of store keys: refuse what could leave its folder."""
    problems = []
    if name in _BAD_SEGMENTS:
        problems.append(f"may not be '{name}'")
    problems += [f"may not contain '{char}'" for char in "/%" if char in name]
    if problems:
        raise BadRequestError(f'Name parameter invalid: "{name}": {";".join(problems)}')


def check_namespace(namespace: str) -> None:
    problems = [f"may not be '{namespace}'"] if namespace in _BAD_SEGMENTS else []
    problems += [f"may not contain '{char}'" for char in "/%" if char in namespace]
    if problems:
        raise BadRequestError(f'Namespace parameter invalid: "{namespace}": {";".join(problems)}')


def get(served: Served, namespace: str, name: str) -> Item:
    check_name(name)
    item = served.cache.get(served.key(namespace, name))
    if item is None:
        raise not_found(served, name)
    return item


def judged_group(kind: Kind) -> str:
    """The group in whose name an object is refused: events of both groups are the core's."""
    return "" if kind.kind == "Event" else kind.group


def not_found(served: Served, name: str) -> NotFoundError:
    kind = served.kind
    # The one resource whose errors upstream words in the singular.
    plural = "componentstatus" if kind.kind == "ComponentStatus" else kind.plural
    return NotFoundError.of(plural, name, group=kind.group)
