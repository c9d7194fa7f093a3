"""Short ways to write the objects of scenarios."""

from typing import Any

Json = Any
SIMULATION = "simulation.winkube.dev/"
FAILING = {"exit": "after=0.05,code=1"}


def notes(**said: str) -> dict[str, str]:
    """Annotations for the simulated kubelet; ``exit_1`` is for the pod with index 1."""
    return {SIMULATION + key.replace("_", "-"): text for key, text in said.items()}


def template(app: str = "web", image: str = "app:1", **more: Json) -> Json:
    """``more``: fields of the pod spec, and ``annotations``, ``labels``, ``container``."""
    annotations = more.pop("annotations", None)
    labels = {"app": app, **more.pop("labels", {})}
    container = {"name": "main", "image": image, **more.pop("container", {})}
    metadata: Json = {"labels": labels}
    if annotations:
        metadata["annotations"] = annotations
    spec = {"terminationGracePeriodSeconds": 1, "containers": [container], **more}
    return {"metadata": metadata, "spec": spec}


def pod(name: str, app: str = "web", **more: Json) -> Json:
    owner = more.pop("owners", None)
    finalizers = more.pop("finalizers", None)
    made = template(app, **more)
    made["metadata"]["name"] = name
    if owner:
        made["metadata"]["ownerReferences"] = owner
    if finalizers:
        made["metadata"]["finalizers"] = finalizers
    return {"apiVersion": "v1", "kind": "Pod", **made}


def workload(kind: str, name: str = "web", **spec: Json) -> Json:
    selector: Json = {"matchLabels": {"app": "web"}}
    made = {"selector": selector, "template": template(), **spec}
    if kind == "ReplicationController":
        made["selector"] = spec.get("selector", {"app": "web"})
    if kind == "Job":
        del made["selector"]
        made["template"] = {"metadata": {}, "spec": {}, **made["template"]}
        made["template"]["spec"].setdefault("restartPolicy", "Never")
    return {"kind": kind, "metadata": {"name": name}, "spec": made}


def service(name: str = "web", **spec: Json) -> Json:
    made = {"selector": {"app": "web"}, "ports": [{"port": 80}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": made}


def claim(name: str, **spec: Json) -> Json:
    resources = {"requests": {"storage": "1Gi"}}
    made = {"accessModes": ["ReadWriteOnce"], "resources": resources, **spec}
    return {"kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": made}


def is_ready(obj: Json) -> bool:
    conditions = (obj.get("status") or {}).get("conditions") or []
    return any(entry["type"] == "Ready" and entry["status"] == "True" for entry in conditions)


def condition(obj: Json, kind: str) -> Json:
    conditions = (obj.get("status") or {}).get("conditions") or []
    return next((entry for entry in conditions if entry["type"] == kind), {})


def rolled_out(obj: Json) -> bool:
    """Whether a Deployment is where its spec wants it."""
    status, wanted = obj.get("status") or {}, obj["spec"].get("replicas", 1)
    return bool(
        status.get("observedGeneration") == obj["metadata"]["generation"]
        and status.get("updatedReplicas", 0) == wanted
        and status.get("replicas", 0) == wanted
        and status.get("availableReplicas", 0) == wanted
    )


def job_over(obj: Json) -> bool:
    return bool(
        condition(obj, "Complete").get("status") == "True"
        or condition(obj, "Failed").get("status") == "True"
    )


def labelled(obj: Json, **labels: str) -> Json:
    obj["metadata"]["labels"] = labels or {"app": "web"}
    return obj


def job(**spec: Json) -> Json:
    said = spec.pop("notes", {"exit": "after=0.1,code=0"})
    shape = template(annotations=notes(**said), **{"restartPolicy": "Never", **spec.pop("pod", {})})
    return workload("Job", **{"template": shape, **spec})
