"""Carry out what a set's plan says: claims, then pods, then the status."""

from collections.abc import Awaitable, Callable, Sequence

from winkube.api.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from winkube.api.meta import (
    controller_of,
    is_deleting,
    key_of,
    labels_of,
    name_of,
    namespace_of,
    uid_of,
)
from winkube.api.selectors import from_label_selector
from winkube.base.errors import WinkubeError
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.resource import (
    CONTROLLERREVISIONS,
    PERSISTENTVOLUMECLAIMS,
    PODS,
    STATEFULSETS,
)
from winkube.controllers.adoption import apply_claims, plan_claims
from winkube.controllers.controller import Context, Controller
from winkube.controllers.expectations import Expectations
from winkube.controllers.indexes import NAMESPACE, ORPHANS, OWNER, add_owner_indexes
from winkube.controllers.replicaset import Failure, slow_start
from winkube.controllers.statefulset.identity import (
    claims_of,
    is_member,
    ordinal_of,
    with_identity,
)
from winkube.controllers.statefulset.plan import Act, Plan, SetView, Step, plan_set
from winkube.controllers.statefulset.retention import has_conflict, wanted_owners
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
        add_owner_indexes(self._sets)
        self._revisions = self.informer(CONTROLLERREVISIONS)
        add_owner_indexes(self._revisions)
        self._claims = self.informer(PERSISTENTVOLUMECLAIMS)
        self._pods = self.informer(PODS)
        add_owner_indexes(self._pods)
        self._pods.on_change(self._pod_changed)
        self._expected = Expectations(context.clock)

    def _pod_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        for pod in (old, new):
            if pod is None:
                continue
            owner = controller_of(pod)
            if owner is not None:
                if owner.get("kind") == "StatefulSet":
                    owner_key = f"{namespace_of(pod)}/{owner['name']}"
                    self._observe(owner_key, old, new)
                    self.queue.add(owner_key)
            elif pod is new:
                self._queue_adopters(pod)

    def _observe(self, owner: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if old is None and new is not None:
            self._expected.created(owner)
        if new is None or is_deleting(new):
            self._expected.deleted(owner, uid_of(new or old or {}))

    def _queue_adopters(self, pod: JsonObject) -> None:
        for candidate in self._sets.by_index(NAMESPACE, namespace_of(pod)):
            selector = from_label_selector(candidate["spec"].get("selector"))
            if is_member(candidate, pod) and selector.matches(labels_of(pod)):
                self.queue.add(key_of(candidate))

    async def reconcile(self, key: str) -> None:
        stateful_set = self._sets.get(key)
        if stateful_set is None:
            self._expected.forget(key)
            return
        if not self._expected.satisfied(key):
            # The pods we asked for, or sent away, come back through the cache.
            return
        revisions = await self._own_revisions(stateful_set)
        pods = await self._own_pods(stateful_set)
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
            await self._forget_revision(each)

    # -- whose pods and revisions

    async def _own_pods(self, stateful_set: JsonObject) -> tuple[JsonObject, ...]:
        selector = from_label_selector(stateful_set["spec"].get("selector"))
        orphans = self._pods.by_index(ORPHANS, namespace_of(stateful_set))
        candidates = (
            *self._pods.by_index(OWNER, uid_of(stateful_set)),
            *(pod for pod in orphans if is_member(stateful_set, pod)),
        )
        claims = plan_claims(stateful_set, selector, candidates)
        return await apply_claims(self.client, PODS, stateful_set, claims)

    async def _own_revisions(self, stateful_set: JsonObject) -> list[JsonObject]:
        selector = from_label_selector(stateful_set["spec"].get("selector"))
        candidates = (
            *self._revisions.by_index(OWNER, uid_of(stateful_set)),
            *self._revisions.by_index(ORPHANS, namespace_of(stateful_set)),
        )
        claims = plan_claims(stateful_set, selector, candidates)
        found = await apply_claims(self.client, CONTROLLERREVISIONS, stateful_set, claims)
        return by_number(found)

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

    async def _forget_revision(self, revision: JsonObject) -> None:
        try:
            await self.client.delete(
                CONTROLLERREVISIONS, name_of(revision), namespace=namespace_of(revision)
            )
        except NotFoundError:
            return

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

        await _all([doing(step) for step in plan.steps])
        for pod in plan.disown:
            await self._set_owners(stateful_set, pod)
        leaving = [Step(Act.DELETE, pod) for pod in plan.shrink]
        await _all([doing(step) for step in leaving])
        if plan.outdated is not None:
            await self._delete(key, stateful_set, plan.outdated)

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
        options = {"preconditions": {"uid": uid_of(pod)}}
        try:
            await self.client.delete(
                PODS, name_of(pod), namespace=namespace_of(pod), options=options
            )
        except (NotFoundError, ConflictError):
            self._expected.deleted(key, uid_of(pod))
        except (ApiError, TransportError) as error:
            self._expected.deleted(key, uid_of(pod))
            self._tell(stateful_set, "Delete", pod, error)
            raise
        else:
            self._tell(stateful_set, "Delete", pod)

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
            if claim is None:
                continue
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
        if status != (view.stateful_set.get("status") or {}):
            try:
                await self.client.update(
                    STATEFULSETS, {**view.stateful_set, "status": status}, subresource="status"
                )
            except NotFoundError:
                return


async def _all(steps: Sequence[Callable[[], Awaitable[None]]]) -> None:
    """In batches that double while they succeed; the first failure is the caller's."""
    waiting = iter(steps)

    async def one() -> Failure | ClaimError | None:
        try:
            await next(waiting)()
        except (ApiError, TransportError, ClaimError) as error:
            return error
        return None

    _, failure = await slow_start(len(steps), one)
    if failure is not None:
        raise failure
