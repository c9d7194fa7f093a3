"""The tracking finalizer: taken off counted pods, and off pods that have no job any more."""

from winkube.api.errors import NotFoundError
from winkube.api.meta import controller_of, key_of, name_of, namespace_of, uid_of
from winkube.base.types import JsonObject
from winkube.client.resource import JOBS, PODS
from winkube.client.rest import ApiClient, PatchType
from winkube.controllers.controller import Context, Controller
from winkube.controllers.indexes import OWNER, add_owner_indexes
from winkube.controllers.job.view import FINALIZER, finished_condition, is_ours, is_tracked


async def remove_finalizer(client: ApiClient, pod: JsonObject) -> None:
    if not is_tracked(pod):
        return
    body = {"metadata": {"$deleteFromPrimitiveList/finalizers": [FINALIZER]}}
    await client.patch(
        PODS,
        name_of(pod),
        body,
        namespace=namespace_of(pod),
        patch_type=PatchType.STRATEGIC,
    )


class JobOrphanController(Controller):
    """Without it a pod would outlive the job that alone may let it go."""

    name = "job-orphan-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._jobs = self.informer(JOBS)
        self._jobs.on_change(self._job_changed)
        self._pods = self.informer(PODS)
        add_owner_indexes(self._pods)
        self._pods.on_change(self._pod_changed)

    def _job_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is None or finished_condition(new) is not None:
            for pod in self._pods.by_index(OWNER, uid_of(new or old or {})):
                if is_tracked(pod):
                    self.queue.add(key_of(pod))

    def _pod_changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is not None and is_tracked(new) and self._is_orphan(new):
            self.queue.add(key)

    def _is_orphan(self, pod: JsonObject) -> bool:
        owner = controller_of(pod)
        if owner is None:
            return True
        if owner.get("kind") != "Job" or owner.get("apiVersion") != JOBS.api_version:
            return False
        job = self._jobs.get(f"{namespace_of(pod)}/{owner['name']}")
        if job is None or uid_of(job) != owner["uid"]:
            return True
        return is_ours(job) and finished_condition(job) is not None

    async def reconcile(self, key: str) -> None:
        pod = self._pods.get(key)
        if pod is None or not self._is_orphan(pod):
            return
        try:
            await remove_finalizer(self.client, pod)
        except NotFoundError:
            return
