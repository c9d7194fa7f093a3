"""An object as its author wrote it: without what the API server filled in.

Admission sees objects complete with defaults and with the token volume of their service account.
A remark about these would be one that nobody can act on.
"""

from typing import Any, Final

from winkube.base.types import JsonObject
from winkube.rules.paths import CONTAINERS
from winkube.rules.placement import OS_LABELS
from winkube.rules.subjects import Subject

_TOKEN: Final = "kube-api-access-"
_DEFAULT_MODE: Final = 420
_GRACE_SECONDS: Final = 30
# No rule looks at other labels of a pod; many differ from pod to pod.
LABELS: Final = frozenset(OS_LABELS)
_INDEX: Final = "batch.kubernetes.io/job-completion-index"
_MODED: Final = ("configMap", "secret", "projected", "downwardAPI")
# Volumes whose filesystem is ext4 if nobody says another.
_EXT4: Final = ("azureDisk", "rbd", "scaleIO")


def as_written(document: JsonObject, subject: Subject) -> JsonObject:
    """A copy as deep as it has to be."""
    pod = {
        **subject.pod,
        "metadata": notes_of(subject.pod),
        "spec": _spec(subject.pod["spec"]),
    }
    return _with_pod({**document, "metadata": notes_of(document)}, subject.base, pod)


def notes_of(part: JsonObject) -> JsonObject:
    """What of the metadata rules look at."""
    metadata = part.get("metadata")
    if not isinstance(metadata, dict):
        return {}
    notes = {key: metadata[key] for key in ("name", "namespace") if key in metadata}
    labels, annotations = metadata.get("labels"), metadata.get("annotations")
    if isinstance(labels, dict):
        notes["labels"] = {key: labels[key] for key in LABELS if key in labels}
    if isinstance(annotations, dict):
        notes["annotations"] = {key: annotations[key] for key in annotations if key != _INDEX}
    return notes


def _with_pod(document: Any, base: tuple[str | int, ...], pod: JsonObject) -> JsonObject:
    if not base:
        return pod
    step = base[0]
    return {**document, step: _with_pod(document[step], base[1:], pod)}


def _spec(spec: JsonObject) -> JsonObject:
    made = dict(spec)
    if made.get("terminationGracePeriodSeconds") == _GRACE_SECONDS:
        del made["terminationGracePeriodSeconds"]
    volumes = made.get("volumes")
    if isinstance(volumes, list):
        made["volumes"] = [_volume(each) for each in volumes if not _is_token(each)]
        for name in CONTAINERS:
            containers = made.get(name)
            if isinstance(containers, list):
                made[name] = [_container(each) for each in containers]
    return made


def _is_token(part: Any) -> bool:
    name = part.get("name") if isinstance(part, dict) else None
    return isinstance(name, str) and name.startswith(_TOKEN)


def _container(container: Any) -> Any:
    mounts = container.get("volumeMounts") if isinstance(container, dict) else None
    if not isinstance(mounts, list) or not any(_is_token(mount) for mount in mounts):
        return container
    return {**container, "volumeMounts": [each for each in mounts if not _is_token(each)]}


def _volume(volume: Any) -> Any:
    if not isinstance(volume, dict):
        return volume
    for key, field, usual in (
        *((key, "defaultMode", _DEFAULT_MODE) for key in _MODED),
        *((key, "fsType", "ext4") for key in _EXT4),
    ):
        source = volume.get(key)
        if isinstance(source, dict) and source.get(field) == usual:
            kept = {name: value for name, value in source.items() if name != field}
            volume = {**volume, key: kept}
    return volume
