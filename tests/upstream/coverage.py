"""What the recorded cases judge: which act on which resource, against what discovery serves.

An act is a verb with what matters of how it is asked: a patch by its type, a list or a watch by
each of its parameters, a read by the form that is wanted. It is judged where a recorded case has
it and upstream did it; a refusal is no judgement of the act.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from tests.upstream.exchange import APPLY, JSON_PATCH, MERGE, STRATEGIC, Answer, Step
from tests.upstream.recorded import case_sets, read_answers

Json = Any

PATCHES: Final = {
    JSON_PATCH: "patch json",
    MERGE: "patch merge",
    STRATEGIC: "patch strategic",
    APPLY: "patch apply",
}
FORMS: Final = ("as Table", "as PartialObjectMetadata")
LIST_BY: Final = (
    "limit",
    "continue",
    "labelSelector",
    "fieldSelector",
    "resourceVersion",
    "resourceVersionMatch",
)
WATCH_BY: Final = ("labelSelector", "sendInitialEvents", "allowWatchBookmarks")
WRITES: Final = ("create", "update", *PATCHES.values(), "delete", "deletecollection")
# What each verb of discovery stands for.
ACTS: Final[Mapping[str, Sequence[str]]] = {
    "get": ("get", "get resourceVersion", *(f"get {form}" for form in FORMS)),
    "list": ("list", *(f"list {by}" for by in LIST_BY), *(f"list {form}" for form in FORMS)),
    "watch": ("watch", *(f"watch {by}" for by in WATCH_BY), *(f"watch {form}" for form in FORMS)),
    "create": ("create", "create dryRun"),
    "update": ("update", "update dryRun"),
    "patch": (*PATCHES.values(), *(f"{patch} dryRun" for patch in PATCHES.values())),
    "delete": ("delete", "delete dryRun"),
    "deletecollection": ("deletecollection", "deletecollection dryRun"),
}
_OWN_PARTS: Final = {"status", "finalize"}  # of a namespace: what else follows one is inside it


@dataclass(frozen=True, slots=True, order=True)
class Pair:
    resource: str  # "apps/v1 deployments/scale"
    act: str

    def __str__(self) -> str:
        return f"{self.resource}: {self.act}"


@functools.cache
def served() -> set[Pair]:
    """Every act on every resource that upstream's recorded discovery names."""
    return {
        Pair(f"{found['groupVersion']} {resource['name']}", act)
        for found in resource_lists()
        for resource in found["resources"]
        for verb in resource["verbs"]
        for act in _acts(verb, part="/" in resource["name"])
    }


def _acts(verb: str, *, part: bool) -> Sequence[str]:
    return ("get",) if part and verb == "get" else ACTS[verb]


def resource_lists() -> list[Json]:
    bodies = [answer["body"] for case in read_answers("discovery").values() for answer in case]
    return [b for b in bodies if isinstance(b, dict) and b.get("kind") == "APIResourceList"]


def group_versions() -> set[str]:
    """What the roots of discovery name."""
    bodies = [answer["body"] for answer in read_answers("discovery")["the roots"]]
    groups = [group for body in bodies for group in body.get("groups", ())]
    named = {version["groupVersion"] for group in groups for version in group["versions"]}
    return named | {version for body in bodies for version in body.get("versions", ())}


@functools.cache
def judged() -> set[Pair]:
    """What upstream did in a recorded case."""
    return {pair for pair, done in _asked() if done}


@functools.cache
def answered() -> set[Pair]:
    """What upstream did or refused in a recorded case."""
    return {pair for pair, _ in _asked()}


def _asked() -> Iterator[tuple[Pair, bool]]:
    for name, cases in case_sets().items():
        for case in cases:
            said = read_answers(name).get(case.name, ())
            answers = [_spoken(answer) for answer in said[: len(case.steps)]]
            for number, (step, answer) in enumerate(zip(case.steps, answers, strict=False)):
                done = 200 <= answer.status < 300 and not _failed(answer.body)
                for pair in pairs(step, answers[:number]):
                    yield pair, done
            for path, events in zip(case.watch, said[len(case.steps) :], strict=False):
                for pair in pairs(Step("GET", f"{path}{'&' if '?' in path else '?'}watch=1"), []):
                    yield pair, bool(events["events"])


def _failed(body: Json) -> bool:
    """Whether a watch says so: its status was sent before."""
    events = body if isinstance(body, list) else [body]
    return any(isinstance(event, dict) and event.get("type") == "ERROR" for event in events)


def _spoken(recorded: Json) -> Answer:
    """An answer that steps can be made of: versions are numbers there."""
    return Answer(recorded["status"], _numbered(recorded["body"]))


def _numbered(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _numbered(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_numbered(entry) for entry in value]
    return "1" if value == "<version>" else value


def pairs(step: Step, answers: list[Answer]) -> Iterator[Pair]:
    """What a step asks for: the plain act, and the act with each of its parameters."""
    address = urlsplit(step.path(answers) if callable(step.path) else step.path)
    place = _place(address.path)
    if place is None:
        return
    resource, item = place
    asked = parse_qs(address.query, keep_blank_values=True)
    act = _act(step, asked, item=item)
    if act is None:
        return
    manners = list(_manners(act, step, asked))
    # Without effect is another act.
    plain = [] if "dryRun" in manners else [""]
    for word in (*plain, *manners):
        yield Pair(resource, f"{act} {word}".rstrip())


def _place(path: str) -> tuple[str, bool] | None:
    """The resource a path leads to, and whether to one object of it."""
    root, *rest = path.strip("/").split("/")
    count = {"api": 1, "apis": 2}.get(root, 0)
    if not count or len(rest) <= count or rest[count] == "watch":
        return None
    version, tail = "/".join(rest[:count]), rest[count:]
    if tail[0] == "namespaces" and len(tail) > 2 and tail[2] not in _OWN_PARTS:
        tail = tail[2:]
    part = f"/{tail[2]}" if len(tail) > 2 else ""
    return f"{version} {tail[0]}{part}", len(tail) > 1


def _act(step: Step, asked: Mapping[str, list[str]], *, item: bool) -> str | None:
    match step.verb:
        case "GET" if item:
            return None if "watch" in asked else "get"
        case "GET":
            return "watch" if asked.get("watch", ["0"])[0] in ("1", "true", "") else "list"
        case "DELETE":
            return "delete" if item else "deletecollection"
        case "PATCH":
            return PATCHES.get(step.type)
    return {"POST": "create", "PUT": "update"}.get(step.verb)


def _manners(act: str, step: Step, asked: Mapping[str, list[str]]) -> Iterator[str]:
    accepted = step.headers.get("Accept", "")
    yield from (form for form in FORMS if form.replace(" ", "=") in accepted)
    yield from ("dryRun" for value in asked.get("dryRun", ()) if value == "All")
    known = {"list": LIST_BY, "watch": WATCH_BY, "get": ("resourceVersion",)}.get(act, ())
    yield from (by for by in known if by in asked)
