"""Fields of features that are off by default in the served version: upstream drops them unread."""

from collections.abc import Iterator

from winkube.base.types import JsonObject

_LISTS = ("containers", "initContainers", "ephemeralContainers")
_PROJECTIONS = ("clusterTrustBundle", "podCertificate")


def drop_disabled(spec: JsonObject) -> None:
    """From the spec of a pod, in place."""
    spec.pop("hostnameOverride", None)
    for field, container in _containers(spec):
        if "restartPolicy" in container or "restartPolicyRules" in container:
            _drop_restart_rules(container, sidecar=field == "initContainers")
        if "lifecycle" in container:
            _drop_stop_signal(container)
        for variable in container.get("env") or ():
            if variable.get("valueFrom"):
                variable["valueFrom"].pop("fileKeyRef", None)
    if spec.get("volumes"):
        _drop_image_volumes(spec)
        for volume in spec.get("volumes") or ():
            for source in (volume.get("projected") or {}).get("sources") or ():
                for kind in _PROJECTIONS:
                    source.pop(kind, None)


def _containers(spec: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    for field in _LISTS:
        for container in spec.get(field) or ():
            yield field, container


def _drop_restart_rules(container: JsonObject, *, sidecar: bool) -> None:
    container.pop("restartPolicyRules", None)
    if "restartPolicy" in container and not (sidecar and container["restartPolicy"] == "Always"):
        del container["restartPolicy"]


def _drop_stop_signal(container: JsonObject) -> None:
    lifecycle = container.get("lifecycle")
    if lifecycle and lifecycle.pop("stopSignal", None) is not None and not lifecycle:
        del container["lifecycle"]


def _drop_image_volumes(spec: JsonObject) -> None:
    gone = {volume.get("name") for volume in spec["volumes"] if volume.get("image") is not None}
    if not gone:
        return
    kept = [volume for volume in spec["volumes"] if volume.get("image") is None]
    _replace(spec, "volumes", kept)
    for _, container in _containers(spec):
        mounts = container.get("volumeMounts") or []
        _replace(
            container, "volumeMounts", [mount for mount in mounts if mount.get("name") not in gone]
        )


def _replace(holder: JsonObject, field: str, entries: list[JsonObject]) -> None:
    if entries:
        holder[field] = entries
    else:
        holder.pop(field, None)
