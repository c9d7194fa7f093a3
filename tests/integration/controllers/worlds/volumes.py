"""Claims of every origin: made by hand, by sets, by pods; kept, let go, and in use when deleted."""

import random
from collections import Counter
from typing import Any

from tests.integration.controllers.worlds.world import (
    TWO,
    app_of,
    items,
    touch,
    until,
    workload,
)

from winkube.api.meta import is_deleting, name_of, owner_references
from winkube.base.types import JsonObject
from winkube.client.resource import (
    DEPLOYMENTS,
    NAMESPACES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODS,
    STATEFULSETS,
    STORAGECLASSES,
    Resource,
)
from winkube.client.rest import ApiClient

EXPECTED = {
    "pods": {"shrinks": 1, "scratch": 2},
    "images": ["two"],
    "endings": 0,
    "claims": {
        "data-left-0": "Bound",
        "data-left-1": "Bound",
        "data-shrinks-0": "Bound",
        "by-label": "Bound",
        "scratch": "Bound Bound",
    },
    "volumes": {
        ("manual", "Bound"): 1,
        ("manual", "Released"): 1,
        ("local", "Bound"): 5,
        ("lasting", "Released"): 1,
    },
    "pairs": True,
    "namespaces": ["default", "kube-node-lease", "kube-public", "kube-system"],
}


def storage_class(name: str, policy: str) -> JsonObject:
    return {
        "metadata": {"name": name},
        "provisioner": "winkube.io/local-path",
        "volumeBindingMode": "WaitForFirstConsumer",
        "reclaimPolicy": policy,
    }


def claim(name: str, storage: str, **spec: Any) -> JsonObject:
    body = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": storage,
        **spec,
    }
    return {"metadata": {"name": name}, "spec": body}


def volume(name: str) -> JsonObject:
    return {
        "metadata": {"name": name, "labels": {"which": name}},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "manual",
            "hostPath": {"path": f"/tmp/{name}"},
        },
    }


def stateful(name: str, replicas: int, deleted: str, scaled: str) -> JsonObject:
    policy = {"whenDeleted": deleted, "whenScaled": scaled}
    return workload(
        name,
        replicas=replicas,
        serviceName=name,
        volumeClaimTemplates=[claim("data", "local")],
        persistentVolumeClaimRetentionPolicy=policy,
    )


def phase_of(obj: JsonObject) -> str:
    return str((obj.get("status") or {}).get("phase", ""))


def mounting(name: str, source: JsonObject, replicas: int = 1) -> JsonObject:
    made = workload(name, replicas=replicas)
    made["spec"]["template"]["spec"]["volumes"] = [{"name": "data", **source}]
    return made


class Volumes:
    touched = (PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, STATEFULSETS, DEPLOYMENTS, PODS)

    async def begin(self, client: ApiClient) -> None:
        async def make(resource: Resource, obj: JsonObject, namespace: str = "default") -> None:
            await client.create(resource, obj, namespace=namespace)

        for name, policy in (("local", "Delete"), ("lasting", "Retain")):
            await client.create(STORAGECLASSES, storage_class(name, policy))
        await client.create(PERSISTENTVOLUMES, volume("by-label"))
        await client.create(PERSISTENTVOLUMES, volume("by-name"))
        selector = {"matchLabels": {"which": "by-label"}}
        await make(PERSISTENTVOLUMECLAIMS, claim("by-label", "manual", selector=selector))
        await make(PERSISTENTVOLUMECLAIMS, claim("by-name", "manual", volumeName="by-name"))
        await make(STATEFULSETS, stateful("shrinks", 3, "Retain", "Delete"))
        await make(STATEFULSETS, stateful("whole", 2, "Delete", "Retain"))
        await make(STATEFULSETS, stateful("left", 2, "Retain", "Retain"))
        for name, storage in (("shared", "local"), ("lasting", "lasting")):
            await make(PERSISTENTVOLUMECLAIMS, claim(name, storage))
            used = {"persistentVolumeClaim": {"claimName": name}}
            await make(DEPLOYMENTS, mounting(name, used))
        body = claim("", "local")["spec"]
        own = {"ephemeral": {"volumeClaimTemplate": {"spec": body}}}
        await make(DEPLOYMENTS, mounting("scratch", own, 2))
        await client.create(NAMESPACES, {"metadata": {"name": "doomed"}})
        await make(STATEFULSETS, stateful("gone", 2, "Retain", "Retain"), "doomed")

    async def change(self, client: ApiClient) -> None:
        async def drop(resource: Resource, name: str) -> None:
            await client.delete(resource, name, namespace="default")

        await client.delete(NAMESPACES, "doomed")
        await until(lambda: self._are_bound(client, "by-name", "lasting", "data-left-1"))
        await until(lambda: self._are_owned(client, "data-whole-0", "data-whole-1"))
        await until(lambda: self._has_pod(client, "shrinks-2"))
        smaller = {"spec": {"replicas": 1}}
        await client.patch(STATEFULSETS, "shrinks", smaller, namespace="default")
        await client.patch(DEPLOYMENTS, "scratch", {"spec": TWO}, namespace="default")
        # Claims go before those who use them, and stay until these are gone.
        for name in ("shared", "lasting"):
            await drop(PERSISTENTVOLUMECLAIMS, name)
            await drop(DEPLOYMENTS, name)
        await drop(PERSISTENTVOLUMECLAIMS, "by-name")
        await drop(STATEFULSETS, "whole")
        await drop(STATEFULSETS, "left")

    async def _are_bound(self, client: ApiClient, *names: str) -> bool:
        claims = await items(client, PERSISTENTVOLUMECLAIMS, namespace="default")
        bound = {name_of(each) for each in claims if phase_of(each) == "Bound"}
        return bound >= set(names)

    async def _are_owned(self, client: ApiClient, *names: str) -> bool:
        """A claim that no owner has yet would stay, as it does with upstream's controller."""
        claims = await items(client, PERSISTENTVOLUMECLAIMS, namespace="default")
        return {name_of(each) for each in claims if owner_references(each)} >= set(names)

    async def _has_pod(self, client: ApiClient, name: str) -> bool:
        return name in map(name_of, await items(client, PODS, namespace="default"))

    async def disturb(self, client: ApiClient, rng: random.Random) -> None:
        await touch(client, self.touched, rng)

    async def state(self, client: ApiClient) -> JsonObject:
        pods = [pod for pod in await items(client, PODS) if app_of(pod)]
        claims = await items(client, PERSISTENTVOLUMECLAIMS)
        volumes = await items(client, PERSISTENTVOLUMES)
        phases: dict[str, list[str]] = {}
        for each in claims:
            name = "scratch" if name_of(each).startswith("scratch-") else name_of(each)
            phases.setdefault(name, []).append(phase_of(each))
        bound = {name_of(each): each for each in volumes if phase_of(each) == "Bound"}
        return {
            "pods": dict(Counter(app_of(p) for p in pods if p["status"]["phase"] == "Running")),
            "images": sorted(
                {p["spec"]["containers"][0]["image"] for p in pods if app_of(p) == "scratch"}
            ),
            "endings": sum(map(is_deleting, [*pods, *claims, *volumes])),
            "claims": {name: " ".join(sorted(each)) for name, each in phases.items()},
            "volumes": dict(Counter((v["spec"]["storageClassName"], phase_of(v)) for v in volumes)),
            "pairs": all(
                bound[each["spec"]["volumeName"]]["spec"]["claimRef"]["uid"]
                == each["metadata"]["uid"]
                for each in claims
                if each["spec"].get("volumeName") in bound
            ),
            "namespaces": sorted(map(name_of, await items(client, NAMESPACES))),
        }

    def is_done(self, found: JsonObject) -> bool:
        return found == EXPECTED
