"""What watches over workloads: schedules, autoscalers, budgets, quotas, services, ends of life."""

import contextlib
import random
from datetime import UTC, datetime
from functools import partial

from tests.integration.controllers.worlds.world import (
    ENDS,
    app_of,
    items,
    job,
    template,
    touch,
    until,
    workload,
)

from winkube.api.errors import ApiError
from winkube.api.meta import is_deleting, name_of, namespace_of, owner_references
from winkube.base.clock import SystemClock, to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.resource import (
    CONFIGMAPS,
    CRONJOBS,
    DEPLOYMENTS,
    ENDPOINTS,
    ENDPOINTSLICES,
    HORIZONTALPODAUTOSCALERS,
    JOBS,
    NAMESPACES,
    PODDISRUPTIONBUDGETS,
    PODS,
    REPLICASETS,
    RESOURCEQUOTAS,
    SERVICES,
    STATEFULSETS,
    Resource,
)
from winkube.client.rest import ApiClient
from winkube.controllers.pods import is_ready

# The fewest pods that budgets leave.
GUARDED = {"guarded": 3, "kept": 2}
HOLD = "example.com/hold"
# Of two pods of one name and second a budget cannot say which was evicted: it waits two minutes.
STOPS = {"simulation.winkube.dev/stop": "after=1,code=0"}
EXPECTED = {
    "pods": {
        "default/guarded": 4,
        "default/kept": 3,
        "default/scaled": 2,
        "default/orphaned": 2,
        "limited/many": 2,
    },
    "budgets": {"guarded": (4, 4, 3, 1), "kept": (3, 3, 2, 1)},
    "quota": {"pods": "2", "count/replicasets.apps": "1"},
    "autoscaler": 2,
    "orphans": [0],
    "endings": 0,
    "namespaces": ["default", "kube-node-lease", "kube-public", "kube-system", "limited"],
}


def budget(name: str, **spec: int) -> JsonObject:
    selector = {"matchLabels": {"app": name}}
    return {"metadata": {"name": name}, "spec": {"selector": selector, **spec}}


def service(name: str, selector: dict[str, str] | None) -> JsonObject:
    return {
        "metadata": {"name": name},
        "spec": {"ports": [{"port": 80}], **({"selector": selector} if selector else {})},
    }


def subsets(*addresses: str) -> list[JsonObject]:
    return [{"addresses": [{"ip": each} for each in addresses], "ports": [{"port": 80}]}]


def cron_job(name: str, at: float, notes: dict[str, str], **spec: object) -> JsonObject:
    body = job(name, notes)["spec"]
    return {
        "metadata": {"name": name},
        "spec": {
            "schedule": daily(at),
            "timeZone": "Etc/UTC",
            "jobTemplate": {"metadata": {"labels": {"app": name}}, "spec": body},
            **spec,
        },
    }


def daily(at: float) -> str:
    moment = datetime.fromtimestamp(at, UTC)
    return f"{moment.minute} {moment.hour} * * *"


class Policies:
    """Its CronJobs are due because they were last started the day before, as their status says."""

    touched = (
        CRONJOBS,
        JOBS,
        HORIZONTALPODAUTOSCALERS,
        PODDISRUPTIONBUDGETS,
        SERVICES,
        ENDPOINTSLICES,
        DEPLOYMENTS,
        PODS,
    )

    def __init__(self) -> None:
        self.second = SystemClock().now() // 60 * 60
        self.first = self.second - 60

    async def begin(self, client: ApiClient) -> None:
        async def make(resource: Resource, obj: JsonObject, namespace: str = "default") -> None:
            await client.create(resource, obj, namespace=namespace)

        await make(PODDISRUPTIONBUDGETS, budget("guarded", minAvailable=3))
        await make(DEPLOYMENTS, workload("guarded", replicas=4))
        await make(PODDISRUPTIONBUDGETS, budget("kept", maxUnavailable=1))
        slow = template("kept", notes=STOPS)
        await make(STATEFULSETS, workload("kept", replicas=3, serviceName="kept", template=slow))
        await make(DEPLOYMENTS, workload("scaled", replicas=1))
        await make(HORIZONTALPODAUTOSCALERS, autoscaler("scaled", 3, 5))
        await make(DEPLOYMENTS, workload("orphaned", replicas=2))
        await make(DEPLOYMENTS, workload("whole", replicas=2))
        await make(SERVICES, service("moving", {"app": "guarded"}))
        await make(SERVICES, service("closed", {"app": "guarded"}))
        await make(SERVICES, service("outside", None))
        await make(ENDPOINTS, {"metadata": {"name": "outside"}, "subsets": subsets("192.0.2.1")})
        await make(JOBS, job("brief", ENDS, ttlSecondsAfterFinished=1))
        await self._begin_schedules(client)
        await client.create(NAMESPACES, {"metadata": {"name": "limited"}})
        hard = {"pods": "3", "count/replicasets.apps": "2"}
        await make(RESOURCEQUOTAS, {"metadata": {"name": "few"}, "spec": {"hard": hard}}, "limited")
        await make(DEPLOYMENTS, workload("many", replicas=5), "limited")
        await self._begin_doomed(client)

    async def _begin_schedules(self, client: ApiClient) -> None:
        for made in (
            cron_job("once", self.first, ENDS),
            cron_job("tidy", self.first, ENDS, successfulJobsHistoryLimit=0),
            cron_job("replaced", self.first, {}, concurrencyPolicy="Replace"),
        ):
            await client.create(CRONJOBS, made, namespace="default")
            await self._last_started(client, name_of(made), self.first - 60)

    async def _last_started(self, client: ApiClient, name: str, at: float) -> None:
        body = {"status": {"lastScheduleTime": to_rfc3339(at)}}
        await client.patch(CRONJOBS, name, body, namespace="default", subresource="status")

    async def _begin_doomed(self, client: ApiClient) -> None:
        await client.create(NAMESPACES, {"metadata": {"name": "doomed"}})
        held = {"metadata": {"name": "held", "finalizers": [HOLD]}}
        for resource, obj in (
            (CONFIGMAPS, held),
            (DEPLOYMENTS, workload("lost", replicas=2)),
            (STATEFULSETS, workload("gone", replicas=2, serviceName="gone")),
            (PODDISRUPTIONBUDGETS, budget("lost", minAvailable=2)),
            (SERVICES, service("lost", {"app": "lost"})),
            (JOBS, job("runs", {})),
            (CRONJOBS, cron_job("later", self.first, {})),
            (RESOURCEQUOTAS, {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "9"}}}),
        ):
            await client.create(resource, obj, namespace="doomed")

    async def change(self, client: ApiClient) -> None:
        async def patch(resource: Resource, name: str, body: JsonObject) -> None:
            await client.patch(resource, name, body, namespace="default")

        await client.delete(NAMESPACES, "doomed")
        await patch(
            HORIZONTALPODAUTOSCALERS, "scaled", {"spec": {"minReplicas": 2, "maxReplicas": 2}}
        )
        await patch(SERVICES, "moving", {"spec": {"selector": {"app": "scaled"}}})
        await patch(ENDPOINTS, "outside", {"subsets": subsets("192.0.2.2", "192.0.2.3")})
        await client.delete(SERVICES, "closed", namespace="default")
        fewer = {"spec": {"replicas": 2}}
        await client.patch(DEPLOYMENTS, "many", fewer, namespace="limited")
        await self._change_schedule(client)
        for name, policy in (("orphaned", "Orphan"), ("whole", "Foreground")):
            await until(partial(self._has_pods, client, name, 2))
            options = {"propagationPolicy": policy}
            await client.delete(DEPLOYMENTS, name, namespace="default", options=options)
        free = {"metadata": {"finalizers": None}}
        await client.patch(CONFIGMAPS, "held", free, namespace="doomed")

    async def _change_schedule(self, client: ApiClient) -> None:
        """Have the second job started while the first runs."""

        async def is_listed() -> bool:
            found = await client.get(CRONJOBS, "replaced", namespace="default")
            return bool(found["status"].get("active"))

        await until(is_listed)
        await self._last_started(client, "replaced", self.first - 60)
        for body in (
            {"spec": {"schedule": daily(self.second)}},
            # A new schedule is about what comes; that this time has come is seen at the next look.
            {"metadata": {"annotations": {"looked": "at"}}},
        ):
            await client.patch(CRONJOBS, "replaced", body, namespace="default")

    async def _has_pods(self, client: ApiClient, app: str, count: int) -> bool:
        found = await items(client, PODS, namespace="default", label_selector=f"app={app}")
        return len(found) == count

    async def disturb(self, client: ApiClient, rng: random.Random) -> None:
        await touch(client, self.touched, rng)
        app = rng.choice(sorted(GUARDED))
        with contextlib.suppress(ApiError, TransportError):
            await self._evict(client, rng, app)

    async def _evict(self, client: ApiClient, rng: random.Random, app: str) -> None:
        """Of pods that a budget speaks for, which are the ready ones."""
        healthy = await self._healthy(client, app)
        if not healthy:
            return
        name = rng.choice(healthy)
        body = {"metadata": {"name": name}}
        await client.create(PODS, body, namespace="default", name=name, subresource="eviction")
        left = await self._healthy(client, app)
        assert len(left) >= GUARDED[app], f"{name} was evicted, which left {left} of {healthy}"

    async def _healthy(self, client: ApiClient, app: str) -> list[str]:
        pods = await items(client, PODS, namespace="default", label_selector=f"app={app}")
        return [name_of(pod) for pod in pods if is_ready(pod) and not is_deleting(pod)]

    async def state(self, client: ApiClient) -> JsonObject:
        pods = [pod for pod in await items(client, PODS) if app_of(pod)]
        running = [pod for pod in pods if pod["status"]["phase"] == "Running"]
        counted: dict[str, int] = {}
        for pod in running:
            if "batch.kubernetes.io/job-name" not in pod["metadata"]["labels"]:
                kind = f"{namespace_of(pod)}/{app_of(pod)}"
                counted[kind] = counted.get(kind, 0) + 1
        sets = await items(client, REPLICASETS, namespace="default")
        scaler = await client.get(HORIZONTALPODAUTOSCALERS, "scaled", namespace="default")
        quota = await client.get(RESOURCEQUOTAS, "few", namespace="limited")
        return {
            "pods": counted,
            "endings": sum(map(is_deleting, pods)),
            "budgets": {
                name_of(each): spent(each) for each in await items(client, PODDISRUPTIONBUDGETS)
            },
            "quota": (quota.get("status") or {}).get("used"),
            "autoscaler": (scaler.get("status") or {}).get("currentReplicas"),
            "orphans": [len(owner_references(s)) for s in sets if app_of(s) == "orphaned"],
            "namespaces": sorted(map(name_of, await items(client, NAMESPACES))),
            "schedules": await self._schedules(client),
            "services": await self._services(client, running),
        }

    async def _schedules(self, client: ApiClient) -> JsonObject:
        jobs = await items(client, JOBS)
        pods = await items(client, PODS)
        return {
            "jobs": sorted(map(name_of, jobs)),
            "running": sorted(
                {
                    pod["metadata"]["labels"].get("batch.kubernetes.io/job-name", "")
                    for pod in pods
                    if pod["status"]["phase"] == "Running" and app_of(pod) == "replaced"
                }
            ),
            "gone": sorted(name_of(pod) for pod in pods if app_of(pod) in ("brief", "tidy")),
            "statuses": {
                name_of(each): (
                    [entry["name"] for entry in each["status"].get("active") or ()],
                    each["status"]["lastScheduleTime"],
                    "lastSuccessfulTime" in each["status"],
                )
                for each in await items(client, CRONJOBS, namespace="default")
            },
        }

    def _expected_schedules(self) -> JsonObject:
        once, new = f"once-{int(self.first) // 60}", f"replaced-{int(self.second) // 60}"
        return {
            "jobs": [once, new],
            "running": [new],
            "gone": [],
            "statuses": {
                "once": ([], to_rfc3339(self.first), True),
                "tidy": ([], to_rfc3339(self.first), True),
                "replaced": ([new], to_rfc3339(self.second), False),
            },
        }

    async def _services(self, client: ApiClient, pods: list[JsonObject]) -> JsonObject:
        """Of each service whether its slices say what they have to, and nothing twice."""
        said: dict[str, list[str]] = {}
        for each in await items(client, ENDPOINTSLICES, namespace="default"):
            owner = each["metadata"]["labels"]["kubernetes.io/service-name"]
            listed = said.setdefault(owner, [])
            for endpoint in each["endpoints"] or ():
                listed.extend(endpoint["addresses"])
        ready = sorted(pod["status"]["podIP"] for pod in pods if app_of(pod) == "scaled")
        legacy = await items(client, ENDPOINTS, namespace="default")
        said.pop("kubernetes", None)
        return {
            "moving": sorted(said.pop("moving", ())) == ready,
            "outside": sorted(said.pop("outside", ())) == ["192.0.2.2", "192.0.2.3"],
            "others": sorted(said),
            "legacy": sorted({*map(name_of, legacy)} - {"kubernetes"}),
        }

    def is_done(self, found: JsonObject) -> bool:
        services = {
            "moving": True,
            "outside": True,
            "others": [],
            "legacy": ["moving", "outside"],
        }
        wanted = {**EXPECTED, "schedules": self._expected_schedules(), "services": services}
        return found == wanted


def autoscaler(target: str, least: int, most: int) -> JsonObject:
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": target}
    spec = {"scaleTargetRef": reference, "minReplicas": least, "maxReplicas": most}
    return {"metadata": {"name": target}, "spec": spec}


def spent(budget: JsonObject) -> tuple[int, ...] | str:
    status = budget.get("status") or {}
    if status.get("disruptedPods"):
        return f"disrupted: {sorted(status['disruptedPods'])}"
    fields = ("expectedPods", "currentHealthy", "desiredHealthy", "disruptionsAllowed")
    return tuple(status.get(field, -1) for field in fields)
