"""Short ways to write nodes, pods and what belongs to them."""

from typing import Any

Json = Any
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def node(name: str, cpu: str = "4", memory: str = "8Gi", **more: Any) -> Json:
    """``labels``, ``extra`` resources, ``images``, ``pods``, or fields of the spec."""
    amounts = {"cpu": cpu, "memory": memory, "pods": str(more.pop("pods", 110))}
    amounts.update(more.pop("extra", {}))
    labels = {HOST: name, **more.pop("labels", {})}
    status = {
        "capacity": amounts,
        "allocatable": amounts,
        "images": more.pop("images", []),
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": more,
        "status": status,
    }


def zone(name: str, where: str, **more: Any) -> Json:
    return node(name, labels={ZONE: where, **more.pop("labels", {})}, **more)


def pod(name: str, cpu: str = "", memory: str = "", **more: Any) -> Json:
    """``labels``, ``requests``, ``ports``, ``image``, ``owner``, ``start``, fields of the spec."""
    requests = {k: v for k, v in (("cpu", cpu), ("memory", memory)) if v}
    requests.update(more.pop("requests", {}))
    extended = {k: v for k, v in requests.items() if "/" in k}
    container = {
        "name": "c",
        "image": more.pop("image", "example.com/any:1"),
        "resources": {"requests": requests, "limits": extended},
        "ports": more.pop("ports", []),
    }
    metadata: Json = {"name": name, "labels": more.pop("labels", {})}
    if "owner" in more:
        metadata["ownerReferences"] = [more.pop("owner")]
    found: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    if "start" in more:
        found["status"] = {"phase": "Running", "startTime": more.pop("start")}
    found["spec"] = {
        "containers": [container],
        "terminationGracePeriodSeconds": more.pop("grace", 0),
        **more,
    }
    return found


def on(where: str, name: str, cpu: str = "", memory: str = "", **more: Any) -> Json:
    """A pod that runs on a node already."""
    return pod(name, cpu, memory, nodeName=where, **more)


def wants(**labels: str) -> Json:
    return {"matchLabels": labels}


def expression(key: str, operator: str, *values: str) -> Json:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def node_affinity(*terms: Json, preferred: list[tuple[int, Json]] | None = None) -> Json:
    found: Json = {}
    if terms:
        found[REQUIRED] = {"nodeSelectorTerms": list(terms)}
    if preferred:
        found[PREFERRED] = [{"weight": w, "preference": term} for w, term in preferred]
    return {"nodeAffinity": found}


def match(*expressions: Json) -> Json:
    return {"matchExpressions": list(expressions)}


def named(*names: str) -> Json:
    return {"matchFields": [expression("metadata.name", "In", *names)]}


def term(key: str, **labels: str) -> Json:
    return {"topologyKey": key, "labelSelector": wants(**labels)}


def together(*terms: Json) -> Json:
    return {"podAffinity": {REQUIRED: list(terms)}}


def apart(*terms: Json) -> Json:
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def rather(kind: str, *weighted: tuple[int, Json]) -> Json:
    return {kind: {PREFERRED: [{"weight": w, "podAffinityTerm": t} for w, t in weighted]}}


def spread(key: str, when: str = "DoNotSchedule", skew: int = 1, **more: Any) -> Json:
    selector = more.pop("selector", wants(app="x"))
    found = {"topologyKey": key, "whenUnsatisfiable": when, "maxSkew": skew}
    return {**found, "labelSelector": selector, **more}


def taint(key: str, value: str = "", effect: str = "NoSchedule") -> Json:
    return {"key": key, "value": value, "effect": effect}


def budget(name: str, allowed: int, **labels: str) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"minAvailable": 1, "selector": wants(**labels)},
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": 1,
            "desiredHealthy": 1,
            "expectedPods": 1,
        },
    }


def service(name: str, **selector: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": selector, "ports": [{"port": 80}]},
    }


def replica_set(name: str, **labels: str) -> Json:
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "example.com/any:1"}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name},
        "spec": {"replicas": 0, "selector": wants(**labels), "template": template},
    }


def owned_by(name: str) -> Json:
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": name,
        "uid": "00000000-0000-0000-0000-000000000001",
        "controller": True,
    }


def claim(name: str, storage_class: str, **spec: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": storage_class,
            **spec,
        },
    }


def volume(name: str, **more: Any) -> Json:
    """``labels``, or fields of the spec."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": more.pop("labels", {})},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "storageClassName": "later",
            "hostPath": {"path": "/v"},
            **more,
        },
    }


def bound(name: str, to: str, **spec: Any) -> Json:
    """A claim that has its volume."""
    found = claim(name, "later", volumeName=to, **spec)
    found["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    return found


def with_claim(name: str) -> Json:
    return {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]}


def with_own_claim(storage_class: str) -> Json:
    """A volume whose claim, ``<pod>-v``, is made for the pod."""
    template = {"spec": claim("", storage_class)["spec"]}
    return {"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}]}
