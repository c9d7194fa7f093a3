"""The deployment controller: one reconcile is one step of a rollout.

Theory of operation: a deployment owns ReplicaSets, one per template. The one with the current
template is *new* and grows, the others are *old* and shrink; each reconcile makes at most one kind
of step (create the new set, grow it, or shrink old ones) and writes the status. The sets' own
status changes bring the deployment back for the next step.
"""

import contextlib
import copy
import dataclasses
from collections.abc import Sequence

from winkube.api.errors import AlreadyExistsError, ApiError
from winkube.api.meta import (
    annotations_of,
    controller_of,
    find_condition,
    is_controlled_by,
    key_of,
    name_of,
    namespace_of,
    uid_of,
)
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.resource import DEPLOYMENTS, PODS, REPLICASETS
from winkube.controllers.annotation import MAX_INT64, noted_number
from winkube.controllers.batch import Failure
from winkube.controllers.controller import Context, Controller
from winkube.controllers.dependents import Dependents
from winkube.controllers.deployment import revision, scaling, status, template
from winkube.controllers.deployment.scaling import Resize
from winkube.controllers.deployment.view import (
    DESIRED,
    HASH_LABEL,
    REVISION,
    ROLLBACK_TO,
    Rollout,
    replicas_of,
    revision_of,
)
from winkube.controllers.indexes import OWNER, add_owner_indexes
from winkube.controllers.pod_control import is_ending_namespace
from winkube.controllers.pods import is_finished


class DeploymentController(Controller):
    name = "deployment-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._deployments = self.follow(DEPLOYMENTS)
        self._sets = Dependents(self, REPLICASETS, self._deployments, "Deployment")
        self._sets.follow()
        self._every_set = self.informer(REPLICASETS)
        self._pods = self.informer(PODS)
        add_owner_indexes(self._pods)
        self._pods.on_change(self._pod_changed)

    def _pod_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        """Recreate waits for the last old pod to go."""
        owner = controller_of(old) if old is not None and new is None else None
        if old is None or owner is None or owner.get("kind") != "ReplicaSet":
            return
        replica_set = self._every_set.get(f"{namespace_of(old)}/{owner['name']}")
        deployment = controller_of(replica_set) if replica_set else None
        if deployment is not None:
            self.queue.add(f"{namespace_of(old)}/{deployment['name']}")

    async def reconcile(self, key: str) -> None:
        deployment = self._deployments.get(key)
        if deployment is None:
            return
        rollout = await self._rollout(deployment)
        if rollout.deleting:
            await self._write_status(rollout, status.plan_status(rollout, self.clock.now()))
            return
        rollout = await self._mark_paused(rollout)
        if ROLLBACK_TO in annotations_of(deployment) and not rollout.paused:
            await self._roll_back(rollout)
        elif rollout.paused or scaling.is_scaling(rollout):
            await self._follow_size(rollout)
        elif rollout.rolling:
            await self._roll(rollout)
        else:
            await self._recreate(rollout)

    async def _rollout(self, deployment: JsonObject) -> Rollout:
        owned = await self._sets.claim(deployment)
        new = template.find_new(deployment, owned)
        old = tuple(each for each in owned if each is not new)
        return Rollout(deployment, new, old)

    async def _roll(self, rollout: Rollout) -> None:
        rollout = await self._ensure_new(rollout)
        resizes = scaling.plan_new_set(rollout) or scaling.plan_old_sets(rollout)
        await self._resize(rollout, resizes)
        await self._finish(rollout, settled=not resizes)

    async def _recreate(self, rollout: Rollout) -> None:
        rollout = await self._ensure_new(rollout, create=False)
        down = scaling.plan_recreate_down(rollout)
        if down:
            await self._resize(rollout, down)
        elif not self._old_pods_run(rollout):
            rollout = await self._ensure_new(rollout)
            await self._resize(rollout, scaling.plan_new_set(rollout))
        await self._finish(rollout, settled=not down)

    async def _follow_size(self, rollout: Rollout) -> None:
        rollout = await self._ensure_new(rollout, create=False)
        await self._resize(rollout, scaling.plan_scale(rollout))
        if rollout.paused:
            await self._clean_up(rollout)
        await self._write_status(rollout, status.plan_status(rollout, self.clock.now()))

    async def _finish(self, rollout: Rollout, *, settled: bool) -> None:
        now = self.clock.now()
        planned = status.plan_rollout_status(rollout, now)
        if settled and status.is_complete(rollout, planned):
            await self._clean_up(rollout)
        await self._write_status(rollout, planned)
        left = status.seconds_to_deadline(rollout, planned["conditions"], now)
        if left is not None:
            self.queue.add_after(key_of(rollout.deployment), left + 1)

    def _old_pods_run(self, rollout: Rollout) -> bool:
        return any(
            not is_finished(pod)
            for replica_set in rollout.old
            for pod in self._pods.by_index(OWNER, uid_of(replica_set))
        )

    async def _ensure_new(self, rollout: Rollout, *, create: bool = True) -> Rollout:
        """Have the set of the current template, numbered as the latest revision."""
        if rollout.new is not None:
            rollout = await self._update_new(rollout, rollout.new)
        elif create:
            rollout = await self._create_new(rollout)
        else:
            return rollout
        return await self._record_revision(rollout)

    async def _update_new(self, rollout: Rollout, replica_set: JsonObject) -> Rollout:
        wanted = revision.plan_annotations(rollout, replica_set)
        seconds = rollout.spec.get("minReadySeconds") or 0
        same = seconds == (replica_set["spec"].get("minReadySeconds") or 0)
        if wanted == annotations_of(replica_set) and same:
            return await self._note_found(rollout, replica_set)
        changed = {
            **replica_set,
            "metadata": {**replica_set["metadata"], "annotations": wanted},
            "spec": {**replica_set["spec"], "minReadySeconds": seconds},
        }
        new = await self.client.update(REPLICASETS, changed)
        return dataclasses.replace(rollout, new=new)

    async def _note_found(self, rollout: Rollout, replica_set: JsonObject) -> Rollout:
        """Progress is counted from the first look at a set that was there before."""
        conditions = (rollout.deployment.get("status") or {}).get("conditions") or []
        if not rollout.has_deadline or find_condition(conditions, "Progressing") is not None:
            return rollout
        message = f'Found new replica set "{name_of(replica_set)}"'
        fresh = status.to_progress_condition("True", "FoundNewReplicaSet", message)
        return await self._set_condition(rollout, fresh)

    async def _create_new(self, rollout: Rollout) -> Rollout:
        wanted = template.new_replica_set(
            rollout.deployment,
            scaling.new_set_size(rollout, 0),
            revision.new_set_annotations(rollout),
        )
        try:
            new = await self.client.create(REPLICASETS, wanted)
        except AlreadyExistsError:
            new = await self._existing(rollout, wanted)
        except (ApiError, TransportError) as error:
            await self._tell_failure(rollout, wanted, error)
            raise
        else:
            size = replicas_of(new)
            if size:
                self._announce(rollout, new, 0, size)
            if rollout.has_deadline:
                message = f'Created new replica set "{name_of(new)}"'
                fresh = status.to_progress_condition("True", "NewReplicaSetCreated", message)
                rollout = await self._set_condition(rollout, fresh)
        return dataclasses.replace(rollout, new=new)

    async def _tell_failure(self, rollout: Rollout, wanted: JsonObject, error: Failure) -> None:
        if is_ending_namespace(error):
            return
        reason = "ReplicaSetCreateError"
        message = f'Failed to create new replica set "{name_of(wanted)}": {error}'
        self.event(rollout.deployment, "Warning", reason, message)
        if rollout.has_deadline:
            fresh = status.to_progress_condition("False", reason, message)
            # What cannot be told either is told with the next failure.
            with contextlib.suppress(ApiError, TransportError):
                await self._set_condition(rollout, fresh)

    async def _existing(self, rollout: Rollout, wanted: JsonObject) -> JsonObject:
        """The name is taken: by our own set the cache has not shown yet, or by a hash collision."""
        found = await self.client.get(REPLICASETS, name_of(wanted), namespace=namespace_of(wanted))
        ours = is_controlled_by(found, rollout.deployment)
        if ours and template.same_template(found["spec"]["template"], rollout.spec["template"]):
            return found
        before = rollout.deployment.get("status") or {}
        count = (before.get("collisionCount") or 0) + 1
        await self._write_status(rollout, {**before, "collisionCount": count})
        raise AlreadyExistsError.of("replicasets", name_of(wanted), group="apps")

    async def _record_revision(self, rollout: Rollout) -> Rollout:
        deployment, new = rollout.deployment, rollout.new
        if new is None or revision_of(deployment) == revision_of(new):
            return rollout
        notes = {**annotations_of(deployment), REVISION: str(revision_of(new))}
        # With the status, as upstream: a plain update of annotations would be a new generation.
        changed = await self.client.update(
            DEPLOYMENTS,
            {**deployment, "metadata": {**deployment["metadata"], "annotations": notes}},
            subresource="status",
        )
        return dataclasses.replace(rollout, deployment=changed)

    async def _resize(self, rollout: Rollout, resizes: Sequence[Resize]) -> None:
        touched = {name_of(each.replica_set) for each in resizes}
        for each in resizes:
            await self._set_size(rollout, each)
        # The rest learn the new size too, or every later reconcile would see a change of size.
        for replica_set in rollout.all:
            wanted = revision.size_annotations(rollout)
            # An adopted set that was never sized is not one whose size is out of date.
            have = annotations_of(replica_set)
            stale = DESIRED in have and not wanted.items() <= have.items()
            if stale and name_of(replica_set) not in touched and replicas_of(replica_set):
                await self._set_size(rollout, Resize(replica_set, replicas_of(replica_set)))

    async def _set_size(self, rollout: Rollout, resize: Resize) -> None:
        before = replicas_of(resize.replica_set)
        body = {
            "metadata": {
                "annotations": revision.size_annotations(rollout),
                "resourceVersion": resize.replica_set["metadata"]["resourceVersion"],
            },
            "spec": {"replicas": resize.replicas},
        }
        await self.client.patch(
            REPLICASETS,
            name_of(resize.replica_set),
            body,
            namespace=namespace_of(resize.replica_set),
        )
        if before != resize.replicas:
            self._announce(rollout, resize.replica_set, before, resize.replicas)

    def _announce(self, rollout: Rollout, replica_set: JsonObject, before: int, after: int) -> None:
        direction = "up" if after > before else "down"
        self.event(
            rollout.deployment,
            "Normal",
            "ScalingReplicaSet",
            f"Scaled {direction} replica set {name_of(replica_set)} from {before} to {after}",
        )

    async def _clean_up(self, rollout: Rollout) -> None:
        for replica_set in revision.plan_cleanup(rollout):
            await self.remove(REPLICASETS, replica_set, propagationPolicy="Background")

    async def _mark_paused(self, rollout: Rollout) -> Rollout:
        conditions = (rollout.deployment.get("status") or {}).get("conditions") or []
        current = find_condition(conditions, "Progressing")
        reason = current.get("reason") if current is not None else None
        if not rollout.has_deadline:
            return rollout
        if rollout.paused and reason not in ("DeploymentPaused", "ProgressDeadlineExceeded"):
            fresh = ("Unknown", "DeploymentPaused", "Deployment is paused")
        elif not rollout.paused and reason == "DeploymentPaused":
            fresh = ("Unknown", "DeploymentResumed", "Deployment is resumed")
        else:
            return rollout
        return await self._set_condition(rollout, status.to_progress_condition(*fresh))

    async def _set_condition(self, rollout: Rollout, fresh: JsonObject) -> Rollout:
        old = rollout.deployment.get("status") or {}
        conditions = [dict(entry) for entry in old.get("conditions") or ()]
        status.set_condition(conditions, fresh, self.clock.now())
        return await self._write_status(rollout, {**old, "conditions": conditions})

    async def _write_status(self, rollout: Rollout, planned: JsonObject) -> Rollout:
        if planned == (rollout.deployment.get("status") or {}):
            return rollout
        changed = await self.client.update(
            DEPLOYMENTS, {**rollout.deployment, "status": planned}, subresource="status"
        )
        return dataclasses.replace(rollout, deployment=changed)

    async def _roll_back(self, rollout: Rollout) -> None:
        """Take the template of an earlier revision, as extensions/v1beta1 clients ask for."""
        deployment = copy.deepcopy(rollout.deployment)
        wanted = noted_number(deployment, ROLLBACK_TO, most=MAX_INT64)
        del deployment["metadata"]["annotations"][ROLLBACK_TO]
        target = revision.find_revision(rollout, -1 if wanted is None else wanted)
        if target is None:
            reason, kind = "DeploymentRollbackRevisionNotFound", "Warning"
            message = "Unable to find the revision to rollback to."
        elif template.same_template(target["spec"]["template"], rollout.spec["template"]):
            reason, kind = "DeploymentRollbackTemplateUnchanged", "Warning"
            message = (
                "The rollback revision contains the same template as current deployment "
                f'"{name_of(deployment)}"'
            )
        else:
            fresh = copy.deepcopy(target["spec"]["template"])
            fresh.get("metadata", {}).get("labels", {}).pop(HASH_LABEL, None)
            deployment["spec"]["template"] = fresh
            reason, kind = "DeploymentRollback", "Normal"
            message = (
                f'Rolled back deployment "{name_of(deployment)}" to revision {revision_of(target)}'
            )
        await self.client.update(DEPLOYMENTS, deployment)
        self.event(rollout.deployment, kind, reason, message)
