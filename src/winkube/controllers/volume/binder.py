"""Bind claims to volumes, keep their phases, and let released volumes go."""

from collections.abc import Sequence
from typing import Final

from winkube.api.errors import NotFoundError
from winkube.api.meta import annotations_of, is_deleting, key_of, name_of, uid_of
from winkube.api.volumes import (
    BIND_COMPLETED,
    PROVISIONER,
    PROVISIONER_BETA,
    class_of,
    is_default_class,
    meant_for,
    offers,
)
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.resource import (
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODS,
    STORAGECLASSES,
)
from winkube.controllers.controller import Context, Controller
from winkube.controllers.note import Note
from winkube.controllers.pods import is_finished, node_of
from winkube.controllers.volume.plan import (
    ClaimPlan,
    ClaimView,
    VolumePlan,
    bound_claim,
    bound_volume,
    claim_status,
    plan_claim,
    plan_reclaim,
    plan_volume,
    unbound_volume,
)
from winkube.controllers.volume.usage import (
    CLAIM,
    CLAIMS,
    VOLUMES,
    add_claim_index,
    tenant_of,
)

_CLASS: Final = "class"
_UNBOUND: Final = "unbound"
_MEANT: Final = "meant"


class PersistentVolumeBinder(Controller):
    name = "persistentvolume-binder-controller"
    event_source = "persistentvolume-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._volumes = self.informer(PERSISTENTVOLUMES)
        self._claims = self.informer(PERSISTENTVOLUMECLAIMS)
        self._claims.add_index(_UNBOUND, _unbound_class)
        self._claims.on_change(self._claim_changed)
        self._volumes.add_index(_CLASS, offers)
        self._volumes.add_index(_MEANT, meant_for)
        self._volumes.on_change(self._volume_changed)
        self._classes = self.informer(STORAGECLASSES)
        self._classes.on_change(self._class_changed)
        self._pods = self.informer(PODS)
        add_claim_index(self._pods)

    def flow_of(self, key: str) -> str:
        return tenant_of(key, self._volumes)

    # -- which keys a change concerns

    def _claim_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is not None:
            self.queue.add(f"{CLAIMS}/{key}")
        # The volume follows its claim: it is bound, or released.
        for claim in (old, new):
            volume = (claim or {}).get("spec", {}).get("volumeName")
            if volume:
                self.queue.add(f"{VOLUMES}/{volume}")

    def _volume_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        for volume in (old, new):
            reference = (volume or {}).get("spec", {}).get("claimRef")
            if reference:
                self.queue.add(f"{CLAIMS}/{reference['namespace']}/{reference['name']}")
        if new is None:
            return
        self.queue.add(f"{VOLUMES}/{key}")
        phase = (new.get("status") or {}).get("phase")
        if phase == "Available" and ((old or {}).get("status") or {}).get("phase") != phase:
            self._queue_waiting(class_of(new))

    def _class_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is not None:
            self._queue_waiting(key)
            if is_default_class(new):
                self._queue_waiting("")

    def _queue_waiting(self, name: str) -> None:
        for claim in self._claims.by_index(_UNBOUND, name):
            self.queue.add(f"{CLAIMS}/{key_of(claim)}")

    async def reconcile(self, key: str) -> None:
        kind, _, rest = key.partition("/")
        obj = (self._claims if kind == CLAIMS else self._volumes).get(rest)
        if obj is None:
            return
        if kind == CLAIMS:
            await self._reconcile_claim(obj)
        else:
            await self._reconcile_volume(obj)

    # -- claims

    async def _reconcile_claim(self, claim: JsonObject) -> None:
        wanted = claim["spec"].get("volumeName")
        plan = plan_claim(
            ClaimView(
                claim,
                self._candidates(claim),
                self._volumes.get(wanted) if wanted else None,
                self._classes.get(class_of(claim)),
                self._waiting_pods(claim),
            )
        )
        if plan.bind is not None:
            await self._bind(claim, plan.bind)
        elif not wanted and await self._give_class(claim):
            return
        else:
            await self._keep(claim, plan)

    def _candidates(self, claim: JsonObject) -> Sequence[JsonObject]:
        return (
            *self._volumes.by_index(_MEANT, key_of(claim)),
            *self._volumes.by_index(_CLASS, class_of(claim)),
        )

    def _waiting_pods(self, claim: JsonObject) -> list[str]:
        pods = self._pods.by_index(CLAIM, key_of(claim))
        return sorted(name_of(pod) for pod in pods if not node_of(pod) and not is_finished(pod))

    async def _bind(self, claim: JsonObject, volume: JsonObject) -> None:
        wanted = bound_volume(volume, claim)
        if wanted is not volume:
            volume = await self.client.update(PERSISTENTVOLUMES, wanted)
        volume = await self._set_volume_phase(volume, "Bound")
        asked = bound_claim(claim, volume)
        if asked is not claim:
            claim = await self.client.update(PERSISTENTVOLUMECLAIMS, asked)
        await self._set_claim_phase(claim, "Bound", volume)

    async def _give_class(self, claim: JsonObject) -> bool:
        """A claim made before there was a default class gets it now."""
        if claim["spec"].get("storageClassName") is not None or class_of(claim):
            return False
        defaults = [each for each in self._classes.list() if is_default_class(each)]
        if not defaults:
            return False
        newest = max(defaults, key=lambda each: (_created(each), name_of(each)))
        spec = {**claim["spec"], "storageClassName": name_of(newest)}
        await self.client.update(PERSISTENTVOLUMECLAIMS, {**claim, "spec": spec})
        return True

    async def _keep(self, claim: JsonObject, plan: ClaimPlan) -> None:
        """Not bound now: say why, and ask for a volume if there is somebody to ask."""
        before = (claim.get("status") or {}).get("phase")
        if plan.provisioner:
            claim = await self._ask(claim, plan.provisioner)
        if plan.phase:
            await self._set_claim_phase(claim, plan.phase, None)
        if plan.note is not None and not (plan.once and before == plan.phase):
            self._tell(claim, plan.note)

    async def _ask(self, claim: JsonObject, provisioner: str) -> JsonObject:
        notes = annotations_of(claim)
        wanted = {**notes, PROVISIONER_BETA: provisioner, PROVISIONER: provisioner}
        if wanted == notes:
            return claim
        metadata = {**claim["metadata"], "annotations": wanted}
        return await self.client.update(PERSISTENTVOLUMECLAIMS, {**claim, "metadata": metadata})

    async def _set_claim_phase(
        self, claim: JsonObject, phase: str, volume: JsonObject | None
    ) -> None:
        status = claim_status(claim, phase, volume)
        if status != (claim.get("status") or {}):
            await self.client.update(
                PERSISTENTVOLUMECLAIMS, {**claim, "status": status}, subresource="status"
            )

    # -- volumes

    async def _reconcile_volume(self, volume: JsonObject) -> None:
        plan = plan_volume(volume, await self._find_claim(volume))
        if plan.ask_claim:
            reference = volume["spec"]["claimRef"]
            self.queue.add(f"{CLAIMS}/{reference['namespace']}/{reference['name']}")
        elif plan.unbind:
            volume = await self.client.update(PERSISTENTVOLUMES, unbound_volume(volume))
            await self._set_volume_phase(volume, "Available")
        elif plan.note is not None:
            self._tell_mismatch(volume, plan)
        else:
            await self._settle(volume, plan)

    async def _settle(self, volume: JsonObject, plan: VolumePlan) -> None:
        phase = (volume.get("status") or {}).get("phase")
        if not (plan.phase == "Released" and phase == "Failed"):
            volume = await self._set_volume_phase(volume, plan.phase)
        if plan.reclaim and not is_deleting(volume):
            await self._reclaim(volume)

    async def _find_claim(self, volume: JsonObject) -> JsonObject | None:
        """The claim the volume names; asked of the server before we call it gone."""
        reference = volume["spec"].get("claimRef") or {}
        if not reference.get("uid"):
            return None
        found = self._claims.get(f"{reference['namespace']}/{reference['name']}")
        settled = (volume.get("status") or {}).get("phase") in ("Released", "Failed")
        if found is None and settled:
            return None
        if found is None or uid_of(found) != reference["uid"]:
            try:
                found = await self.client.get(
                    PERSISTENTVOLUMECLAIMS, reference["name"], namespace=reference["namespace"]
                )
            except NotFoundError:
                return None
        return found if uid_of(found) == reference["uid"] else None

    async def _reclaim(self, volume: JsonObject) -> None:
        delete, note = plan_reclaim(volume)
        if delete:
            await self.remove(PERSISTENTVOLUMES, volume)
        elif note is not None and (volume.get("status") or {}).get("phase") != "Failed":
            await self._set_volume_phase(volume, "Failed", note.message)
            self._tell(volume, note)

    async def _set_volume_phase(
        self, volume: JsonObject, phase: str, message: str = ""
    ) -> JsonObject:
        if (volume.get("status") or {}).get("phase") == phase:
            return volume
        since = to_rfc3339(self.clock.now())
        status = {"phase": phase, "lastPhaseTransitionTime": since}
        if message:
            status["message"] = message
        return await self.client.update(
            PERSISTENTVOLUMES, {**volume, "status": status}, subresource="status"
        )

    # -- words

    def _tell(self, obj: JsonObject, note: Note) -> None:
        self.event(obj, note.type, note.reason, note.message)

    def _tell_mismatch(self, volume: JsonObject, plan: VolumePlan) -> None:
        reference = volume["spec"]["claimRef"]
        claim = self._claims.get(f"{reference['namespace']}/{reference['name']}")
        if plan.note is not None:
            self._tell(volume, plan.note)
        if plan.claim_note is not None and claim is not None:
            self._tell(claim, plan.claim_note)


def _unbound_class(claim: JsonObject) -> tuple[str, ...]:
    bound = BIND_COMPLETED in annotations_of(claim) or claim["spec"].get("volumeName")
    return () if bound else (class_of(claim),)


def _created(obj: JsonObject) -> str:
    return str(obj["metadata"].get("creationTimestamp") or "")
