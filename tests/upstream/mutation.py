"""Bodies made wrong at random: one good object, changed in a few places by what its schema says.

The same seed makes the same bodies, for both servers and for ever: nothing here asks the clock.
"""

import http.client
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from tests.upstream.exchange import (
    APPLY,
    JSON_PATCH,
    MERGE,
    NO_ANSWER,
    STRATEGIC,
    Step,
    differences,
)
from tests.upstream.objects import Sample
from tests.upstream.variants import DRY

from winkube.api.go.text import printed
from winkube.api.kinds import KINDS
from winkube.api.schema import Schema, Shape, Type

Json = Any
Place = tuple[str | int, ...]

TEXTS: Final = (
    "", " ", "a", "A_", "a.b", "a/b", "-", "x" * 64, "x" * 254, "ü", "名", "a b", "*", "0", "-1",
    "1", "true", "null", "\u0000", "\u200b", "e\u0301", "\U0001f600", "%s", "{}", "a\nb", "None",
    "10.0.0.1", "::1", "http", "100m", "1Gi", "50%", "101%",
)  # fmt: skip
# Words that are right somewhere, and wrong nearly everywhere else.
WORDS: Final = (
    "Always", "Never", "OnFailure", "IfNotPresent", "TCP", "UDP", "SCTP", "In", "NotIn", "Exists",
    "DoesNotExist", "Gt", "Equal", "NoSchedule", "NoExecute", "Localhost", "RuntimeDefault",
    "Unconfined", "Default", "ClusterFirst", "None", "Delete", "Retain", "Recycle", "Block",
    "Filesystem", "ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany", "ReadWriteOncePod", "Cluster",
    "Local", "Pods", "Percent", "Utilization", "Value", "AverageValue", "Object", "External",
    "Resource", "ContainerResource", "Max", "Disabled", "Indexed", "NonIndexed", "Failed",
    "TerminatingOrFailed", "FailJob", "Ignore", "Count", "FailIndex", "Terminating", "BestEffort",
    "NotBestEffort", "PriorityClass", "Container", "Pod", "PersistentVolumeClaim", "Honor",
    "Allow", "Forbid", "Replace", "IPv4", "IPv6", "FQDN", "ServiceAccount", "User", "Group",
    "Exact", "Prefix", "ImplementationSpecific", "Namespace", "Role", "ClusterRole", "ClientIP",
    "NodePort", "LoadBalancer", "ExternalName", "ClusterIP", "SingleStack", "RequireDualStack",
    "Directory", "Socket", "Recreate", "RollingUpdate", "OnDelete", "OrderedReady", "Parallel",
    "Immediate", "WaitForFirstConsumer", "PreferLowerPriority", "windows", "linux", "Memory",
    "metadata.name", "status.podIP", "spec.nodeName", "limits.cpu", "requests.memory", "cpu",
    "memory", "storage", "pods", "10.0.0.0/8", "a.example.com", "a.example.com/b", "0-3", "@hourly",
    "0 0 * * *", "Asia/Tokyo", "Local", "v1", "apps/v1", "rbac.authorization.k8s.io", "kubernetes",
)  # fmt: skip
NUMBERS: Final = (
    0, -1, 1, 2, 79, 443, 65535, 65536, 2**31 - 1, 2**31, -(2**31) - 1, 2**63 - 1, 2**63, 1.5, 1e3,
)  # fmt: skip
# Fields both servers fill in or compare by themselves, and those that end a conversation early.
LEFT_ALONE: Final = frozenset(
    {
        "apiVersion", "kind", "managedFields", "resourceVersion", "uid", "creationTimestamp",
        "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generateName", "namespace",
    }
)  # fmt: skip


def _copy(value: Json) -> Json:
    return json.loads(json.dumps(value))


def mutate(choose: random.Random, schema: Schema, gvk: tuple[str, str, str], body: Json) -> Json:
    """A copy with one to three places changed."""
    made = _copy(body)
    definition = schema.for_kind(gvk)
    assert definition is not None, gvk
    for _ in range(choose.choice((1, 1, 1, 2, 3))):
        places = list(_places(definition.shape, made, ()))
        place, shape = choose.choice(places)
        _change(choose, made, place, shape)
    return made


def _places(shape: Shape | None, value: Json, here: Place) -> Iterator[tuple[Place, Shape | None]]:
    """Every place that has a value, and every one that could have."""
    if here:
        yield here, shape
    if isinstance(value, dict):
        known = shape.definition.properties if shape and shape.definition else {}
        for key in sorted({*value, *known}):
            if key in LEFT_ALONE:
                continue
            inner = known.get(key) or (shape.item if shape else None)
            if key in value:
                yield from _places(inner, value[key], (*here, key))
            else:
                yield (*here, key), inner
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _places(shape.item if shape else None, entry, (*here, index))


def _change(choose: random.Random, root: Json, place: Place, shape: Shape | None) -> None:
    parent = root
    for step in place[:-1]:
        parent = parent[step]
    key = place[-1]
    exists = isinstance(parent, list) or key in parent
    if exists and choose.random() < 0.3:
        del parent[key]
    elif exists and isinstance(parent[key], list) and parent[key] and choose.random() < 0.3:
        parent[key].append(_copy(parent[key][0]))
    elif choose.random() < 0.25:
        parent[key] = _copy(choose.choice(_ANYTHING))
    elif isinstance(parent, dict) and choose.random() < 0.05:
        parent["unknown"] = 1
    else:
        parent[key] = _value(choose, shape, 0)


_ANYTHING: Final[tuple[Json, ...]] = (
    None, "", "a", 0, -1, 1.5, True, [], {}, [None], [""], [{}], {"a": None}, {"": ""}, {"a": "b"},
)  # fmt: skip


def _value(choose: random.Random, shape: Shape | None, depth: int) -> Json:
    """Something of the right type, sensible or not."""
    if shape is None:
        return _copy(choose.choice(_ANYTHING))
    maker = _MAKERS.get(shape.type)
    if maker is not None:
        return _copy(maker(choose))
    if shape.type is Type.LIST:
        return [_value(choose, shape.item, depth + 1) for _ in range(choose.choice((0, 1, 1, 2)))]
    if shape.type is Type.MAP:
        # Of several wrong values in a map either may be told first: Go's maps have no order.
        most = choose.choice((0, 1, 1, 2))
        count = most if shape.item is not None and shape.item.type is Type.STRING else min(most, 1)
        keys = choose.sample(("a", "b", "", "a b", "x/y", "cpu"), count)
        return {key: _value(choose, shape.item, depth + 1) for key in keys}
    if shape.definition is None or depth > 3:
        return {}
    fields = sorted(set(shape.definition.properties) - LEFT_ALONE)
    picked = choose.sample(fields, min(len(fields), choose.choice((0, 1, 2, 3))))
    return {key: _value(choose, shape.definition.properties[key], depth + 1) for key in picked}


def random_value(choose: random.Random, shape: Shape | None) -> Json:
    return _value(choose, shape, 0)


_MAKERS: Final[Mapping[Type, Callable[[random.Random], Json]]] = {
    Type.STRING: lambda choose: choose.choice(TEXTS if choose.random() < 0.5 else WORDS),
    Type.INT32: lambda choose: choose.choice(NUMBERS),
    Type.INT64: lambda choose: choose.choice(NUMBERS),
    Type.NUMBER: lambda choose: choose.choice(NUMBERS),
    Type.BOOL: lambda choose: choose.choice((True, False)),
    Type.BYTES: lambda choose: choose.choice(("", "YQ==", "a", "!", "YQ")),
    Type.TIME: lambda choose: choose.choice(("", "2020-01-01T00:00:00Z", "x", "2020-13-01")),
    Type.MICRO_TIME: lambda choose: choose.choice(("", "2020-01-01T00:00:00.000000Z", "x")),
    Type.QUANTITY: lambda choose: choose.choice((*TEXTS[-6:], 0, -1, 1.5, "1e3", "0.1", "1n")),
    Type.INT_OR_STRING: lambda choose: choose.choice((*TEXTS[-4:], 0, 1, -1, 2**31, "a", "")),
    Type.FREE_OBJECT: lambda choose: choose.choice(({}, {"a": 1})),
}


# What messages show of whole objects where lists or maps were given empty, or nulls: upstream's
# structs tell a list that is empty from one that is not there, and what a patch shows has lost
# nulls. The verdict is compared all the same.
_SHOWN: Final = (
    (re.compile(r"Invalid value: \{.*\}(?=: )", re.DOTALL), "Invalid value: <object>"),
    (re.compile(r'Invalid value: "map\[.*\]"(?=: )', re.DOTALL), "Invalid value: <patch>"),
    (re.compile(r"Invalid value: null(?=: `selector` does not)"), "Invalid value: <object>"),
    (re.compile(r"\n@@.*", re.DOTALL), "<difference>"),
)


# Volumes that claim templates provide stand first: several of them in the order of a map.
_CLAIMED: Final = re.compile(r"^(spec\.template\.spec\.volumes)\[\d+\]")
_UNDECLARED: Final = "field not declared in schema"


def unlike(asked: Json, theirs: Json, ours: Json) -> Iterable[str]:
    """What differs in the answers to one request, which had the body ``asked``."""
    if theirs["status"] == NO_ANSWER:
        # Upstream's handler panicked (it compares keys that are maps or lists in patches): there
        # are no words to compare, but the request was no good.
        refused = ours["status"] >= http.client.BAD_REQUEST
        return () if refused else [f"upstream panicked, winkube answered {ours['status']}"]
    ordered = _has_one_claim(asked)
    hidden = _has_nothing(asked)
    left, right = (settled(answer, ordered=ordered, hidden=hidden) for answer in (theirs, ours))
    if _names_another(asked, left, right):
        return ()
    if _tells_part(left, right):
        right = {**right, "body": {**right["body"], "message": left["body"]["message"]}}
    return differences(left, right)


_NAMELESS: Final = re.compile(r"^map: (.*) does not contain declared merge key: \w+$", re.DOTALL)


def _names_another(asked: Json, *answers: Json) -> bool:
    """Whether both tell of an element of the patch that lacks its key, each of another one:
    patches are walked in the order of maps."""
    bodies = [answer["body"] for answer in answers if isinstance(answer["body"], dict)]
    told = [_NAMELESS.match(body.get("message") or "") for body in bodies]
    known = set(_elements(asked))
    return len(told) == len(answers) and all(match and match[1] in known for match in told)


def _elements(value: Json) -> Iterator[str]:
    """The maps in lists, as Go prints them."""
    children = list(value.values()) if isinstance(value, dict) else value
    for child in children if isinstance(children, list) else ():
        if isinstance(child, dict) and isinstance(value, list):
            yield printed(child)
        yield from _elements(child)


def _has_nothing(asked: Json) -> bool:
    """Whether a list or map is given empty, or a null, at any depth."""
    if isinstance(asked, dict | list):
        inside = asked.values() if isinstance(asked, dict) else asked
        return not asked or any(_has_nothing(child) for child in inside)
    return asked is None


def _has_one_claim(asked: Json) -> bool:
    spec = asked.get("spec") if isinstance(asked, dict) else None
    templates = spec.get("volumeClaimTemplates") if isinstance(spec, dict) else None
    return isinstance(templates, list) and len(templates) == 1


def _tells_part(theirs: Json, ours: Json) -> bool:
    """Whether upstream left out problems that we tell: of a map it tells none after a field that
    is not declared, and maps have no order."""
    (start, told), (begin, known) = (_typed(answer) for answer in (theirs, ours))
    cut = any(line.endswith(_UNDECLARED) for line in told)
    return cut and start == begin and told < known


def _typed(answer: Json) -> tuple[str, set[str]]:
    """What comes before the problems of an applied object, and the problems."""
    body = answer.get("body")
    message = (body.get("message") or "") if isinstance(body, dict) else ""
    start, told, problems = (
        message.partition("): ") if "typed patch object (" in message else ("",) * 3
    )
    return start + told, {line.strip() for line in problems.removeprefix("errors:\n").split("\n")}


def settled(answer: Json, *, ordered: bool = False, hidden: bool = True) -> Json:
    """Problems in no order, as upstream walks maps as they come; objects in messages left out."""
    body = answer.get("body")
    if not isinstance(body, dict) or body.get("kind") != "Status":
        return answer
    start, several, problems = (body.get("message") or "").partition("errors:\n")
    if several and "typed patch object (" in start:
        told = "\n".join(sorted(problems.split("\n")))
        return {**answer, "body": {**body, "message": start + several + told}}
    if body.get("reason") == "Conflict" and (body.get("details") or {}).get("causes"):
        # Conflicts with several managers are told in the order of a map.
        details = body["details"]
        causes = sorted(details["causes"], key=lambda cause: (cause["message"], cause["field"]))
        return {**answer, "body": {**body, "details": {**details, "causes": causes}}}
    if body.get("reason") != "Invalid":
        return answer
    causes = [
        {
            **cause,
            "message": _without_objects(cause["message"]) if hidden else cause["message"],
            "field": cause.get("field", "") if ordered else _in_no_order(cause, body["details"]),
        }
        for cause in body.get("details", {}).get("causes") or []
    ]
    in_order = sorted(causes, key=lambda cause: (cause.get("field", ""), cause["message"]))
    details = {**body.get("details", {}), "causes": in_order}
    message = _told(body["message"], body.get("details", {}).get("causes") or [], hidden=hidden)
    return {**answer, "body": {**body, "message": message, "details": details}}


def _in_no_order(cause: Json, details: Json) -> str:
    field: str = cause.get("field", "")
    return _CLAIMED.sub(r"\1[*]", field) if details.get("kind") == "StatefulSet" else field


def _told(message: str, causes: list[Json], *, hidden: bool) -> str:
    """A message without its problems if it tells just those that are listed, each once."""
    start, invalid, told = message.partition("is invalid: ")
    problems = list(dict.fromkeys(f"{each.get('field')}: {each['message']}" for each in causes))
    listed = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
    return start + invalid + ("" if told == listed else _without_objects(told) if hidden else told)


def _without_objects(message: str) -> str:
    for pattern, word in _SHOWN:
        message = pattern.sub(word, message)
    return message


def kind_of(api_version: str, kind: str) -> tuple[str, str, str]:
    group, _, version = api_version.rpartition("/")
    found = KINDS.by_gvk(group, version, kind)
    assert found is not None, (api_version, kind)
    return found.gvk


def fuzz_steps(choose: random.Random, schema: Schema, sample: Sample, count: int) -> list[Step]:
    """The good object, then ``count`` bad ones of each way to write it; nothing bad is kept."""
    gvk = kind_at(sample)
    good = complete(sample)
    steps = [Step("POST", sample.path, good)]
    for _ in range(count):
        bad = mutate(choose, schema, gvk, good)
        steps.append(Step("POST", f"{sample.path}{DRY}", _renamed(bad)))
        steps.append(Step("PUT", f"{sample.item}{DRY}", mutate(choose, schema, gvk, good)))
        steps += [
            Step("PATCH", f"{sample.item}{DRY}", mutate(choose, schema, gvk, good), media)
            for media in (MERGE, STRATEGIC)
        ]
        owned = f"{sample.item}{DRY}&fieldManager=m&force=true"
        steps.append(Step("PATCH", owned, mutate(choose, schema, gvk, good), APPLY))
        steps.append(
            Step("PATCH", f"{sample.item}{DRY}", operations(choose, schema, gvk, good), JSON_PATCH)
        )
    return [*steps, Step("DELETE", f"{sample.item}?gracePeriodSeconds=0")]


def kind_at(sample: Sample) -> tuple[str, str, str]:
    parts = sample.path.strip("/").split("/")
    version = parts[1] if parts[0] == "api" else f"{parts[1]}/{parts[2]}"
    return kind_of(version, sample.kind.split()[0])


def complete(sample: Sample) -> Json:
    """As a client sends it."""
    group, version, kind = kind_at(sample)
    labels = {"labels": {"app": "a"}, "annotations": {"note": "x"}}
    return {
        "apiVersion": f"{group}/{version}" if group else version,
        "kind": kind,
        **sample.named(**labels),
    }


def _renamed(body: Json) -> Json:
    """A creation of another object, if it has a name at all."""
    metadata = body.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("name"), str) and metadata["name"]:
        # Upstream lets a kind that does not look at its names have a NUL in one.
        metadata["name"] = metadata["name"].replace("\0", "") + "-new"
    return body


def operations(
    choose: random.Random, schema: Schema, gvk: tuple[str, str, str], good: Json
) -> Json:
    definition = schema.for_kind(gvk)
    assert definition is not None, gvk
    place, shape = choose.choice(list(_places(definition.shape, good, ())))
    path = "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in place)
    operation = choose.choice(("add", "replace", "remove", "test"))
    made: Json = {"op": operation, "path": path}
    return [made if operation == "remove" else {**made, "value": _value(choose, shape, 0)}]
