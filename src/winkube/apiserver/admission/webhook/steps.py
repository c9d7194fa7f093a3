"""The two steps of admission that ask webhooks: one by one to complete, all at once to judge.

An object that a webhook changed goes through the mutating steps once more; of the webhooks those
are asked again that want to be, when something changed after their turn.
"""

import asyncio
import logging
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from winkube.api.decode import clone
from winkube.api.errors import ApiError, InternalError, UndecodableError
from winkube.api.patch import PatchFailedError, json_patch
from winkube.api.schema import Schema
from winkube.apiserver.admission.chain import NOTHING_SEEN, Admission
from winkube.apiserver.admission.webhook.caller import Caller
from winkube.apiserver.admission.webhook.hooks import Hook, Hooks
from winkube.apiserver.admission.webhook.review import (
    CallError,
    Verdict,
    denial,
    no_dry_run,
    parse_answer,
    read_patch,
    to_review,
)
from winkube.apiserver.auth.user import User
from winkube.apiserver.form.spoken import accept_options
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.accept import accept
from winkube.apiserver.served import Resources
from winkube.base.types import JsonObject

log = logging.getLogger(__name__)


async def _ask(caller: Caller, hook: Hook, request: Admission, *, mutating: bool) -> Verdict:
    """The verdict; a webhook that cannot be asked allows or fails, as it says itself."""
    if request.dry_run and hook.has_side_effects:
        raise no_dry_run(hook.name)
    try:
        if hook.spec.get("matchConditions"):
            raise CallError("match conditions are not supported")
        review = to_review(request, hook.spec.get("admissionReviewVersions") or [])
        verdict = parse_answer(review, await caller.ask(hook, review), mutating=mutating)
    except CallError as error:
        if hook.fails_open:
            facts = {"webhook": hook.name, "error": str(error)}
            log.warning("webhook failed, going on without it", extra=facts)
            return Verdict(allowed=True)
        raise _failed(hook, error) from None
    request.warnings.extend(verdict.warnings)
    if not verdict.allowed:
        raise denial(hook.name, verdict.status)
    return verdict


@dataclass(slots=True)
class _Turns:
    """What one request has been through."""

    asked: list[str] = field(default_factory=list)  # those that may be asked again
    again: set[str] = field(default_factory=set)
    last: JsonObject | None = None

    def changed(self) -> None:
        self.again.update(self.asked)
        self.asked = []


class MutatingWebhooks:
    def __init__(self, resources: Resources, caller: Caller, schema: Schema) -> None:
        self._hooks = Hooks(resources, "mutatingwebhookconfigurations")
        self._caller = caller
        self._schema = schema

    @property
    def asks_others(self) -> bool:
        return self._hooks.exist

    def asked(self, request: Admission) -> frozenset[str]:
        return self._hooks.asked(request)

    def sees(self, namespace: str, pod: JsonObject, user: User) -> Hashable | None:
        return None if self._hooks.exist else NOTHING_SEEN

    async def admit(self, request: Admission) -> None:
        concerned = self._hooks.concerned(request)
        if not concerned:
            return
        turns = request.memory.setdefault("webhooks", _Turns())
        assert isinstance(turns, _Turns)
        if request.is_second_round and turns.last != request.obj:
            turns.changed()
        for hook in concerned:
            if request.is_second_round and hook.uid not in turns.again:
                continue
            # A change of an earlier webhook may concern or excuse a later one.
            if not self._hooks.matches(hook, request):
                continue
            verdict = await _ask(self._caller, hook, request, mutating=True)
            if self._apply(hook, request, verdict):
                turns.changed()
                request.wants_second_round = True
            if hook.may_run_again:
                turns.asked.append(hook.uid)
        turns.last = None if request.obj is None else clone(request.obj)

    def _apply(self, hook: Hook, request: Admission, verdict: Verdict) -> bool:
        """Whether the patch made a difference."""
        obj = request.obj
        try:
            patch = read_patch(verdict)
        except CallError as error:
            if hook.fails_open:
                return False
            raise _failed(hook, error) from None
        if not patch:
            return False
        if obj is None:
            raise _internal(
                f'admission webhook "{hook.name}" attempted to modify the object, which is not '
                "supported for this operation"
            )
        before = clone(obj)
        try:
            document = json_patch(clone(obj), patch)
            patched = self._accept(request, document)
        except UndecodableError as error:
            raise _internal(error.fault) from None
        except PatchFailedError as error:
            raise _internal(error.cause) from None
        except ApiError as error:
            raise _internal(error.message) from None
        obj.clear()
        obj.update(patched)
        return bool(obj != before)

    def _accept(self, request: Admission, document: Any) -> JsonObject:
        if request.operation == "CONNECT":
            return accept_options(document)
        options = WriteOptions(request.user, field_validation="Ignore")
        return accept(self._schema, request.kind, document, options)


class ValidatingWebhooks:
    def __init__(self, resources: Resources, caller: Caller) -> None:
        self._hooks = Hooks(resources, "validatingwebhookconfigurations")
        self._caller = caller

    @property
    def asks_others(self) -> bool:
        return self._hooks.exist

    def asked(self, request: Admission) -> frozenset[str]:
        return self._hooks.asked(request)

    def sees(self, namespace: str, pod: JsonObject, user: User) -> Hashable | None:
        return None if self._hooks.exist else NOTHING_SEEN

    async def validate(self, request: Admission) -> None:
        concerned = self._hooks.concerned(request)
        if not concerned:
            return
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._judge(hook, request), name=hook.name) for hook in concerned
            ]
        for task in tasks:
            error = task.result()
            if error is not None:
                raise error

    async def _judge(self, hook: Hook, request: Admission) -> ApiError | None:
        try:
            await _ask(self._caller, hook, request, mutating=False)
        except ApiError as error:
            return error
        return None


def _failed(hook: Hook, error: CallError) -> InternalError:
    return _internal(f'failed calling webhook "{hook.name}": {error}')


def _internal(cause: str) -> InternalError:
    return InternalError(
        f"Internal error occurred: {cause}", details={"causes": [{"message": cause}]}
    )
