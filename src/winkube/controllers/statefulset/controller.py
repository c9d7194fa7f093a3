"""Carry out what a set's plan says: claims, then pods, then the status."""

import contextlib
from collections.abc import Awaitable, Callable, Sequence

from winkube.api.errors import AlreadyExistsError, ApiError, NotFoundError
from winkube.api.meta import (
    is_deleting,
    key_of,
    name_of,
    namespace_of,
    uid_of,
)
from winkube.base.errors import WinkubeError
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.resource import (
    CONTROLLERREVISIONS,
    PERSISTENTVOLUMECLAIMS,
    PODS,
    STATEFULSETS,
)
from winkube.controllers.adoption import Predicate
from winkube.controllers.batch import Failure, slow_start
from winkube.controllers.controller import Context, Controller
from winkube.controllers.dependents import Dependents, selects
from winkube.controllers.expectations import Expectations
from winkube.controllers.pace import Pace
from winkube.controllers.statefulset.identity import (
    claim_templates,
    claims_of,
    is_member,
    ordinal_of,
    with_identity,
)
from winkube.controllers.statefulset.plan import Act, Plan, SetView, Step, plan_set
from winkube.controllers.statefulset.retention import (
    DELETE,
    has_conflict,
    policy_of,
    wanted_owners,
)
from winkube.controllers.statefulset.revision import (
    by_number,
    new_revision,
    plan_history,
    plan_revision,
    same_data,
)
from winkube.controllers.statefulset.status import plan_status


class ClaimError(WinkubeError):
    """A claim the next pod needs is not there yet."""


class StatefulSetController(Controller):
    name = "statefulset-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._sets = self.follow(STATEFULSETS)
        self._expected = Expectations(context.clock)
        self._pods = Dependents(self, PODS, self._sets, "StatefulSet", _wants_pod)
        self._pods.follow(self._expected.observe)
        # Revisions are only ours to change: nothing is to be done when they do.
        self._revisions = Dependents(self, CONTROLLERREVISIONS, self._sets, "StatefulSet")
        self._claims = self.informer(PERSISTENTVOLUMECLAIMS)
        self._pace = Pace(context.clock, self.informer(PODS))

    async def reconcile(self, key: str) -> None:
        stateful_set = self._sets.get(key)
        if stateful_set is None:
            self._expected.forget(key)
            return
        if not self._expected.satisfied(key):
            # The pods we asked for, or sent away, come back through the cache.
            self.queue.add_after(key, self._expected.left(key))
            return
        revisions = by_number(await self._revisions.claim(stateful_set))
        pods = await self._pods.claim(stateful_set)
        current, update, collisions = await self._choose_revisions(stateful_set, revisions)
        namespace = namespace_of(stateful_set)
        view = SetView(
            stateful_set,
            current,
            update,
            pods,
            lambda name: self._claims.get(f"{namespace}/{name}"),
            self.clock.now(),
        )
        plan = plan_set(view)
        try:
            await self._perform(key, stateful_set, plan)
        finally:
            await self._write_status(key, view, plan, collisions)
        used = (name_of(current), name_of(update))
        for each in plan_history(stateful_set, revisions, pods, used):
            await self.remove(CONTROLLERREVISIONS, each)

    async def _choose_revisions(
        self, stateful_set: JsonObject, revisions: Sequence[JsonObject]
    ) -> tuple[JsonObject, JsonObject, int]:
        status = stateful_set.get("status") or {}
        collisions = int(status.get("collisionCount") or 0)
        plan = plan_revision(stateful_set, revisions, collisions)
        update = plan.update
        if plan.create:
            update, collisions = await self._create_revision(stateful_set, update, collisions)
        elif plan.raise_to is not None:
            update = await self.client.update(
                CONTROLLERREVISIONS, {**update, "revision": plan.raise_to}
            )
        named = status.get("currentRevision")
        current = next((each for each in revisions if name_of(each) == named), update)
        return current, update, collisions

    async def _create_revision(
        self, stateful_set: JsonObject, revision: JsonObject, collisions: int
    ) -> tuple[JsonObject, int]:
        """A name that another template has already is avoided by counting collisions."""
        namespace = namespace_of(stateful_set)
        while True:
            try:
                made = await self.client.create(CONTROLLERREVISIONS, revision, namespace=namespace)
            except AlreadyExistsError:
                found = await self.client.get(
                    CONTROLLERREVISIONS, name_of(revision), namespace=namespace
                )
                if same_data(found, revision):
                    return found, collisions
                collisions += 1
                revision = new_revision(stateful_set, revision["revision"], collisions)
            else:
                return made, collisions

    # -- effects

    async def _perform(self, key: str, stateful_set: JsonObject, plan: Plan) -> None:
        effects = {
            Act.CREATE: self._create,
            Act.DELETE: self._delete,
            Act.CLAIM: self._claim,
            Act.REPAIR: self._repair,
        }

        def doing(step: Step) -> Callable[[], Awaitable[None]]:
            return lambda: effects[step.act](key, stateful_set, step.pod)

        steps = self._affordable(key, stateful_set, plan)
        done = await _all([doing(step) for step in steps], self.others_wait)
        self._pace.made(stateful_set, sum(step.act is Act.CREATE for step in steps[:done]))
        if done < len(steps):
            self.queue.add(key)
            return
        for pod in plan.disown:
            await self._set_owners(stateful_set, pod)
        for pod in plan.shrink:
            await self._bequeath(stateful_set, pod)
        leaving = [Step(Act.DELETE, pod) for pod in plan.shrink]
        await _all([doing(step) for step in leaving])
        if plan.outdated is not None:
            await self._delete(key, stateful_set, plan.outdated)

    def _affordable(self, key: str, stateful_set: JsonObject, plan: Plan) -> list[Step]:
        """What is to be done now: an owner whose pods no node takes makes more of them later."""
        idle = set() if claim_templates(stateful_set) else {Act.CLAIM}
        rest = self._pace.rest(stateful_set)
        if rest:
            self.queue.add_after(key, rest)
            idle.add(Act.CREATE)
        return [step for step in plan.steps if step.act not in idle]

    async def _create(self, key: str, stateful_set: JsonObject, pod: JsonObject) -> None:
        self._expected.expect_creations(key, 1)
        try:
            await self._ensure_claims(stateful_set, pod)
            made = await self.client.create(PODS, pod, namespace=namespace_of(pod))
        except AlreadyExistsError:
            self._expected.created(key)
            raise
        except (ApiError, TransportError, ClaimError) as error:
            self._expected.created(key)
            self._tell(stateful_set, "Create", pod, error)
            raise
        await self._set_owners(stateful_set, made)
        self._tell(stateful_set, "Create", pod)

    async def _delete(self, key: str, stateful_set: JsonObject, pod: JsonObject) -> None:
        self._expected.expect_deletion(key, uid_of(pod))
        try:
            asked = await self.remove(PODS, pod)
        except (ApiError, TransportError) as error:
            self._expected.deleted(key, uid_of(pod))
            self._tell(stateful_set, "Delete", pod, error)
            raise
        if asked:
            self._tell(stateful_set, "Delete", pod)
        else:
            self._expected.deleted(key, uid_of(pod))

    async def _claim(self, key: str, stateful_set: JsonObject, pod: JsonObject) -> None:
        await self._ensure_claims(stateful_set, pod)
        await self._set_owners(stateful_set, pod)

    async def _repair(self, key: str, stateful_set: JsonObject, pod: JsonObject) -> None:
        await self._claim(key, stateful_set, pod)
        wanted = with_identity(stateful_set, pod)
        if wanted == pod:
            return
        try:
            await self.client.update(PODS, wanted)
        except (ApiError, TransportError) as error:
            self._tell(stateful_set, "Update", pod, error)
            raise
        self._tell(stateful_set, "Update", pod)

    async def _ensure_claims(self, stateful_set: JsonObject, pod: JsonObject) -> None:
        for claim in claims_of(stateful_set, ordinal_of(pod)).values():
            known = self._claims.get(key_of(claim))
            if known is not None:
                if is_deleting(known):
                    raise ClaimError(f"pvc {name_of(claim)} is being deleted")
                continue
            await self._create_claim(stateful_set, pod, claim)

    async def _create_claim(
        self, stateful_set: JsonObject, pod: JsonObject, claim: JsonObject
    ) -> None:
        words = f"create Claim {name_of(claim)}"
        where = f"Pod {name_of(pod)} in StatefulSet {name_of(stateful_set)}"
        try:
            await self.client.create(PERSISTENTVOLUMECLAIMS, claim, namespace=namespace_of(claim))
        except AlreadyExistsError:
            return
        except (ApiError, TransportError) as error:
            said = f"{words} for {where} failed error: {error}"
            self.event(stateful_set, "Warning", "FailedCreate", said)
            raise ClaimError(f"failed to create PVC {name_of(claim)}: {error}") from error
        self.event(stateful_set, "Normal", "SuccessfulCreate", f"{words} {where} success")

    async def _set_owners(self, stateful_set: JsonObject, pod: JsonObject) -> None:
        for wanted in claims_of(stateful_set, ordinal_of(pod)).values():
            claim = self._claims.get(key_of(wanted))
            if claim is not None:
                await self._own(stateful_set, pod, claim)

    async def _bequeath(self, stateful_set: JsonObject, pod: JsonObject) -> None:
        """A claim that our cache does not know yet would stay for ever once its pod is gone."""
        if policy_of(stateful_set)[1] != DELETE:
            return
        for wanted in claims_of(stateful_set, ordinal_of(pod)).values():
            if self._claims.get(key_of(wanted)) is not None:
                continue
            with contextlib.suppress(NotFoundError):
                found = await self.client.get(
                    PERSISTENTVOLUMECLAIMS, name_of(wanted), namespace=namespace_of(wanted)
                )
                await self._own(stateful_set, pod, found)

    async def _own(self, stateful_set: JsonObject, pod: JsonObject, claim: JsonObject) -> None:
        if has_conflict(claim, stateful_set, pod):
            said = (
                f"PersistentVolumeClaim {name_of(claim)} has a conflicting OwnerReference that "
                "acts as a manging controller, the retention policy is ignored for this claim"
            )
            self.event(stateful_set, "Warning", "ConflictingController", said)
        owners = wanted_owners(claim, stateful_set, pod)
        if owners is not None:
            metadata = {**claim["metadata"], "ownerReferences": owners}
            await self.client.update(PERSISTENTVOLUMECLAIMS, {**claim, "metadata": metadata})

    def _tell(
        self, stateful_set: JsonObject, verb: str, pod: JsonObject, error: Exception | None = None
    ) -> None:
        words = f"{verb.lower()} Pod {name_of(pod)} in StatefulSet {name_of(stateful_set)}"
        if error is None:
            self.event(stateful_set, "Normal", f"Successful{verb}", f"{words} successful")
        else:
            self.event(stateful_set, "Warning", f"Failed{verb}", f"{words} failed error: {error}")

    async def _write_status(self, key: str, view: SetView, plan: Plan, collisions: int) -> None:
        status, again = plan_status(view, plan, collisions)
        if again is not None:
            self.queue.add_after(key, again)
        await self.write_status(STATEFULSETS, view.stateful_set, status)


def _wants_pod(stateful_set: JsonObject) -> Predicate:
    selected = selects(stateful_set)
    return lambda pod: is_member(stateful_set, pod) and selected(pod)


async def _all(
    steps: Sequence[Callable[[], Awaitable[None]]], yields: Callable[[], bool] = lambda: False
) -> int:
    """In batches that double while they succeed; the first failure is the caller's.

    Says how many were done: ``yields`` may leave the rest for another time.
    """
    waiting = iter(steps)

    async def one() -> Failure | ClaimError | None:
        try:
            await next(waiting)()
        except (ApiError, TransportError, ClaimError) as error:
            return error
        return None

    done, failure = await slow_start(len(steps), one, yields)
    if failure is not None:
        raise failure
    return done
