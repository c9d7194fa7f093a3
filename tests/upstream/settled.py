"""What a control plane has made of a workload, without what no two share: names' ends, times, ids.

Template hashes become the revision they stand for, random ends of names ``~``, addresses and
nodes a word each. Objects that are then alike are counted. Events are what was said how often.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

Json = Any

_SAFE: Final = "[bcdfghjklmnpqrstvwxz2456789]"
_TEXT: Final = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"), "<time>"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? \+0000 UTC( m=\S+)?"), "<time>"),
    (re.compile(r"\b10\.244\.\d+\.\d+(/\d+)?\b"), "<pod address>"),
    (re.compile(r"\b100\.(6[4-9]|[789]\d|1[01]\d|12[0-7])\.\d+\.\d+\b"), "<pod address>"),
    (re.compile(r"\b198\.1[89]\.\d+\.\d+\b"), "<host address>"),
    (re.compile(r"\b10\.(9[6-9]|10\d|11[01])\.\d+\.\d+\b"), "<service address>"),
    (re.compile(r"\b(lin|win)-\d+\b"), r"<\1>"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "<digest>"),
    (re.compile(r"\b\d{8}\b"), "<minute>"),
    # How many nodes there are while others' scenarios take nodes away.
    (re.compile(r"\b\d+/\d+ nodes\b"), "#/# nodes"),
    (re.compile(r"\b\d+ (?=node\(s\)|Preemption|No preemption|Insufficient)"), "# "),
    (re.compile(rf"-{_SAFE}{{8,10}}-{_SAFE}{{5}}\b"), "-<hash>-~"),
    (re.compile(rf"-{_SAFE}{{8,10}}\b"), "-<hash>"),
    (re.compile(rf"-{_SAFE}{{5}}\b"), "-~"),
    (re.compile(rf"(?<=^){_SAFE}{{8,10}}$"), "<hash>"),
)
_DROPPED: Final = frozenset({"uid", "resourceVersion", "managedFields", "selfLink"})
_REVISION: Final = "deployment.kubernetes.io/revision"
# How often these are said depends on timing: on retries, and on what is seen when.
_UNCOUNTED: Final = frozenset(
    {
        "FailedScheduling",
        "SuccessfulDelete",
        "ScalingReplicaSet",
        "NoPods",
        "ProvisioningFailed",
        "FailedBinding",
        "WaitForFirstConsumer",
        "SawCompletedJob",
        "UnmanagedPods",
    }
)


def normalise_objects(
    objects: list[Json], namespace: str, ignore: Sequence[str], words: dict[str, str]
) -> list[Json]:
    words = {**words, namespace: "{ns}"}
    made = [_plain(_settle(obj), words) for obj in objects]
    for obj in made:
        _forget(obj, ignore)
    alike = Counter(json.dumps(obj, sort_keys=True) for obj in made)
    found = [
        {**json.loads(text), **({"times": number} if number > 1 else {})}
        for text, number in sorted(alike.items())
    ]
    return sorted(found, key=_place)


def _place(obj: Json) -> tuple[str, str, str]:
    name = (obj.get("metadata") or {}).get("name", "")
    return str(obj.get("kind")), name, json.dumps(obj, sort_keys=True)


def revision_words(objects: Iterable[Json]) -> dict[str, str]:
    """What to write for each template hash: the revision that has it."""
    words = {}
    for obj in objects:
        metadata = obj.get("metadata") or {}
        labels = metadata.get("labels") or {}
        if obj.get("kind") == "ReplicaSet" and "pod-template-hash" in labels:
            number = (metadata.get("annotations") or {}).get(_REVISION, "0")
            words[labels["pod-template-hash"]] = f"<rev {number}>"
        if obj.get("kind") == "ControllerRevision":
            ending = metadata["name"].rpartition("-")[2]
            words[ending] = f"<rev {obj['revision']}>"
    return words


def _settle(obj: Json) -> Json:
    """Numbers that only have to agree with each other, and orders that mean nothing."""
    metadata, status = obj.get("metadata") or {}, obj.get("status") or {}
    if isinstance(status, dict) and status.get("observedGeneration") == metadata.get("generation"):
        status["observedGeneration"] = "current"
    if _varies(obj) and "generation" in metadata:
        metadata["generation"] = "some"
    if obj.get("kind") == "Pod":
        for entry in obj.get("status", {}).get("conditions") or []:
            entry.pop("lastProbeTime", None)
    # Of the last change only: gone again when a later sync had other reasons.
    notes = metadata.get("annotations") or {}
    if notes.pop("endpoints.kubernetes.io/last-change-trigger-time", None) and not notes:
        del metadata["annotations"]
    if obj.get("subsets"):
        obj["subsets"].sort(key=lambda subset: json.dumps(subset.get("ports"), sort_keys=True))
    return obj


def _varies(obj: Json) -> bool:
    """How often a rolled ReplicaSet was scaled, or a slice was written, depends on timing."""
    kind = obj.get("kind")
    owned = bool((obj.get("metadata") or {}).get("ownerReferences"))
    return kind == "EndpointSlice" or (kind == "ReplicaSet" and owned)


def _plain(value: Json, words: dict[str, str]) -> Json:
    if isinstance(value, dict):
        made = {
            _text(key, words): "<time>" if key.endswith(("Timestamp", "Time")) and entry
            else _plain(entry, words)
            for key, entry in value.items()
            if key not in _DROPPED
        }  # fmt: skip
        if isinstance(made.get("nodePort"), int) and made["nodePort"] != 30080:
            made["nodePort"] = "<port>"
        return made
    if isinstance(value, list):
        made_list = [_plain(entry, words) for entry in value]
        if made_list and all(_is_address(entry) for entry in made_list):
            made_list.sort(key=lambda entry: json.dumps(entry, sort_keys=True))
        return made_list
    return _text(value, words) if isinstance(value, str) else value


def _is_address(entry: Json) -> bool:
    """Endpoints of a slice, addresses of a subset: ordered by addresses, which are not compared."""
    endpoint = isinstance(entry, dict) and "addresses" in entry and "conditions" in entry
    return endpoint or (isinstance(entry, dict) and "ip" in entry and "targetRef" in entry)


def _text(text: str, words: dict[str, str]) -> str:
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    for pattern, meaning in _TEXT:
        text = pattern.sub(meaning, text)
    return text


def normalise_events(
    events: list[Json], namespace: str, ignore: Sequence[str], words: dict[str, str]
) -> list[Json]:
    """What was said, by whom, about what, how often."""
    words = {**words, namespace: "{ns}"}
    said: Counter[str] = Counter()
    for event in events:
        involved = event.get("involvedObject") or {}
        entry = {
            "about": " ".join(
                filter(None, (involved.get(key) for key in ("apiVersion", "kind", "name")))
            ),
            "path": involved.get("fieldPath", ""),
            "type": event.get("type"),
            "reason": event.get("reason"),
            "message": _message(event),
            "by": (event.get("source") or {}).get("component") or event.get("reportingComponent"),
            "reporting": event.get("reportingComponent", ""),
        }
        series = (event.get("series") or {}).get("count")
        said[json.dumps(_plain(entry, words), sort_keys=True)] += series or event.get("count") or 1
    found = []
    for text, number in sorted(said.items()):
        entry = json.loads(text)
        if f"Event.{entry['reason']}" in ignore or "skip schedule deleting pod" in entry["message"]:
            # The latter is said of a pod that ends while it is looked at, or not at all.
            continue
        counted = entry["reason"] not in _UNCOUNTED and f"#{entry['reason']}" not in ignore
        found.append({"kind": "Event", **entry, **({"said": number} if counted else {})})
    return found


def _message(event: Json) -> str:
    text = str(event.get("message", "")).removeprefix("(combined from similar events): ")
    if event.get("reason") == "ScalingReplicaSet":
        # In how many steps a roll goes on depends on when pods become ready.
        text = re.sub(r"from \d+ to \d+", "from # to #", text)
    return text


def _forget(obj: Json, ignore: Sequence[str]) -> None:
    for path in ignore:
        kind, _, rest = path.partition(".")
        if kind != obj.get("kind"):
            continue
        *way, last = rest.split(".")
        place = obj
        for key in way:
            place = place.get(key) or {} if isinstance(place, dict) else {}
        if isinstance(place, dict):
            place.pop(last, None)
