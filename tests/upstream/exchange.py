"""The same conversation with two API servers: cases, their runner, what a comparison leaves out.

A case is a list of steps in a namespace of its own; ``{ns}`` in paths and bodies stands for its
name. A body may be a function of the answers so far (for resource versions). Answers are compared
after everything that may differ between two right servers is replaced: see ``normalise``.
"""

import contextlib
import functools
import http.client
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from winkube.client.config import ClientConfig

Json = Any
Answers = list["Answer"]
Address = str | Callable[[Answers], str]
Body = Json | str | bytes | Callable[[Answers], Json]

JSON: Final = "application/json"
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
APPLY: Final = "application/apply-patch+yaml"
NO_ANSWER: Final = 0  # the connection ended instead: the server panicked


@dataclass(frozen=True, slots=True)
class Step:
    """``path`` may be a function of the answers so far, as the body may.

    ``until`` is a text that is waited for: a watch is read no further than the event that has it
    for the ``times``-th time, anything else is asked again until the answer has it.
    """

    verb: str
    path: Address
    body: Body = None
    type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    until: str = ""
    times: int = 1


@dataclass(frozen=True, slots=True)
class Case:
    """``watch`` names collections whose events are compared at the end.

    ``managed`` compares managedFields too; cases about fields and their values leave them out.
    """

    name: str
    steps: Sequence[Step]
    watch: Sequence[str] = ()
    managed: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Json
    warnings: tuple[str, ...] = ()

    def as_json(self) -> Json:
        made: dict[str, Json] = {"status": self.status, "body": self.body}
        if self.warnings:
            made["warnings"] = list(self.warnings)
        return made


class Conversation:
    """A connection to one API server as its administrator."""

    def __init__(self, config: ClientConfig) -> None:
        host, _, port = config.server.removeprefix("https://").partition(":")
        self._connection = http.client.HTTPSConnection(
            host, int(port), context=config.ssl_context(), timeout=60
        )

    def close(self) -> None:
        self._connection.close()

    def ask(
        self,
        verb: str,
        path: str,
        body: Json | str | bytes = None,
        *,
        type: str = JSON,
        headers: Mapping[str, str] | None = None,
        until: Sequence[str] = (),
    ) -> Answer:
        """``until`` are the texts that end a stream, each in an event of its own."""
        sent = body if isinstance(body, str | bytes) or body is None else json.dumps(body)
        said = {"Accept": JSON, **(headers or {})}
        if sent is not None:
            said["Content-Type"] = type
        self._connection.request(verb, path, body=sent, headers=said)
        try:
            response = self._connection.getresponse()
        except http.client.RemoteDisconnected:
            self._connection.close()
            return Answer(NO_ANSWER, "")
        raw = self._read(response, until) if until else response.read()
        warnings = tuple(response.headers.get_all("Warning") or ())
        return Answer(response.status, _parsed(raw), warnings)

    def _read(self, response: http.client.HTTPResponse, until: Sequence[str]) -> bytes:
        lines, awaited = [], list(until)
        for line in response:
            lines.append(line)
            if awaited and awaited[0].encode() in line:
                awaited.pop(0)
                if not awaited:
                    self._connection.close()  # the rest of the stream is of no interest
                    break
        return b"".join(lines)

    def events(self, path: str, after: str, seconds: int) -> list[Json]:
        """What a watch of ``path`` from ``after`` on has to tell by now."""
        joint = "&" if "?" in path else "?"
        query = f"{path}{joint}watch=1&resourceVersion={after}&timeoutSeconds={seconds}"
        self._connection.request("GET", query, headers={"Accept": JSON})
        response = self._connection.getresponse()
        return [json.loads(line) for line in response.read().splitlines() if line.strip()]


def _parsed(raw: bytes) -> Json:
    """A document, the documents of a stream, or text."""
    try:
        return json.loads(raw)
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in raw.splitlines()] or ""
    except ValueError:
        return raw.decode(errors="replace")


@contextmanager
def conversation(config: ClientConfig) -> Iterator[Conversation]:
    talk = Conversation(config)
    with contextlib.closing(talk):
        yield talk


_SOON: Final = "timeoutSeconds=1"
_PATIENCE: Final = (1, 5, 30)
_SETTLED_SECONDS: Final = 30.0
_ASK_AGAIN_SECONDS: Final = 0.05


def answers_to(
    talk: Conversation, case: Case, namespace: str, expected: Sequence[Json]
) -> list[Json]:
    """As ``run_case``; watches that ended before all had come on a busy machine get longer."""
    said: list[Json] = []
    for seconds in _PATIENCE:
        said = run_case(talk, case, f"{namespace}-{seconds}", seconds)
        if not any(is_cut_short(*pair) for pair in zip(expected, said, strict=True)):
            break
    return said


def is_cut_short(expected: Json, found: Json) -> bool:
    """Whether these are the first of the events that were expected, and nothing else."""
    wanted, came = _events(expected), _events(found)
    return len(came) < len(wanted) and not any(differences(wanted[: len(came)], came))


def _events(answer: Json) -> list[Json]:
    body = answer.get("events", answer.get("body")) or []
    events = body if isinstance(body, list) else [body]
    told = all(isinstance(event, dict) and {"type", "object"} <= {*event} for event in events)
    return events if told else []


def run_case(talk: Conversation, case: Case, namespace: str, seconds: int = 1) -> list[Json]:
    """All answers of a case, normalised; the last entries are the events of its watches.

    Watches last so many ``seconds``.
    """
    _prepare(talk, namespace)
    versions = [_version_of(talk, _fill(path, namespace)) for path in case.watch]
    answers: Answers = []
    for step in case.steps:
        body = step.body(answers) if callable(step.body) else step.body
        path = step.path(answers) if callable(step.path) else step.path
        path = path.replace(_SOON, f"timeoutSeconds={seconds}")
        answers.append(_answer(talk, step, _fill(path, namespace), _fill(body, namespace)))
    said = [normalise(answer.as_json(), namespace) for answer in answers]
    for path, version in zip(case.watch, versions, strict=True):
        events = talk.events(_fill(path, namespace), version, seconds)
        said.append(normalise({"events": events}, namespace))
    if not case.managed:
        said = [_without_managers(answer) for answer in said]
    talk.ask("DELETE", f"/api/v1/namespaces/{namespace}")
    return said


def _answer(talk: Conversation, step: Step, path: str, body: Json) -> Answer:
    ends = [step.until] * step.times if "watch=1" in path else []
    deadline = time.monotonic() + _SETTLED_SECONDS
    while True:
        answer = talk.ask(step.verb, path, body, type=step.type, headers=step.headers, until=ends)
        settled = ends or step.until in json.dumps(answer.body)
        if settled or time.monotonic() > deadline:
            return answer
        time.sleep(_ASK_AGAIN_SECONDS)


def _without_managers(value: Json) -> Json:
    if isinstance(value, dict):
        return {
            key: _without_managers(entry) for key, entry in value.items() if key != "managedFields"
        }
    return [_without_managers(entry) for entry in value] if isinstance(value, list) else value


def _prepare(talk: Conversation, namespace: str) -> None:
    """The namespace with what controllers would add to it."""
    made = talk.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    assert made.status == http.client.CREATED, made
    account = {"metadata": {"name": "default"}}
    talk.ask("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", account)


def _version_of(talk: Conversation, path: str) -> str:
    version: str = talk.ask("GET", path).body["metadata"]["resourceVersion"]
    return version


def _fill(value: Json, namespace: str) -> Json:
    if isinstance(value, str):
        return value.replace("{ns}", namespace)
    if isinstance(value, dict):
        return {_fill(key, namespace): _fill(entry, namespace) for key, entry in value.items()}
    if isinstance(value, list):
        return [_fill(entry, namespace) for entry in value]
    return value


# Keys whose values no two servers share, wherever they stand.
_OWN: Final = {
    "uid": "<uid>",
    "resourceVersion": "<version>",
    "creationTimestamp": "<time>",
    "deletionTimestamp": "<time>",
    "lastTransitionTime": "<time>",
    "lastUpdateTime": "<time>",
    "expirationTimestamp": "<time>",
    "time": "<time>",
    "token": "<token>",
    "continue": "<continue>",
    # Who built a server of what: the fields must be there, their values are its own.
    "gitCommit": "<build>",
    "gitTreeState": "<build>",
    "goVersion": "<build>",
    "compiler": "<build>",
}
# Long runs of one character, as tests of sizes have them, are told by their length.
_RUN: Final = re.compile(r"(.)\1{255,}")
_TEXT: Final = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"\b10\.(9[6-9]|10\d|11[01])\.\d+\.\d+\b"), "<service address>"),
    (re.compile(r"\bfd00:96::[0-9a-f]*"), "<service address>"),
    (re.compile(r"\bkube-api-access-[a-z0-9]{5}\b"), "kube-api-access-<random>"),
    (re.compile(r"https://127\.0\.0\.1:\d+"), "<server>"),
    (re.compile(r"^127\.0\.0\.1:\d+$"), "<server>"),
    # An object shown in the middle of a sentence: the order of its fields is Go's structs'.
    (re.compile(r'(?<=patch: Invalid value: )"\{.*\}"(?=: )'), "<object>"),
    (re.compile(r'(?<=^Invalid value: )"\{\\".*\}"(?=: )'), "<object>"),
    (re.compile(r"\bX509SHA256=[0-9a-f]{64}\b"), "X509SHA256=<digest>"),
    (re.compile(r"\bgenerated-[a-z0-9]{5}\b"), "generated-<random>"),
    (re.compile(r'resourceVersion: "\d+"'), "resourceVersion: <version>"),
    (re.compile(r"\bnodePort:3\d{4}\b"), "nodePort:<node port>"),
    (re.compile(r"(?<=duplicate nodePort: \{)(\w+) 3\d{4}\}"), r"\1 <node port>}"),
    (re.compile(r"larger than max \(\d+ vs"), "larger than max (<size> vs"),
    (re.compile(r"in record \(\d+\)"), "in record (<version>)"),
    (re.compile(r"in object meta: \d+$"), "in object meta: <version>"),
    (re.compile(r"version: \d+, current: \d+"), "version: <version>, current: <version>"),
    (re.compile(r"resource version: \d+ \(\d+\)"), "resource version: <version> (<version>)"),
)


# How long ago something was, in a cell: no two runs take the same time, nor the same day.
_NODE_PORTS: Final = re.compile(r":3\d{4}/")
_AGE: Final = re.compile(r"^\d+[smhdy](\d+[smhd])?$")


def normalise(value: Json, namespace: str) -> Json:
    if isinstance(value, dict):
        made = {
            normalise(key, namespace): _own(key, entry) or normalise(entry, namespace)
            for key, entry in value.items()
        }
        _hide_generated(made)
        return made
    if isinstance(value, list):
        return [normalise(entry, namespace) for entry in value]
    if isinstance(value, str):
        text = _RUN.sub(lambda run: f"<{run[1]} × {len(run[0])}>", value.replace(namespace, "{ns}"))
        for pattern, word in _TEXT:
            text = pattern.sub(word, text)
        return text
    return value


def _cell(cell: Json) -> Json:
    if not isinstance(cell, str):
        return cell
    return _AGE.sub("<age>", _NODE_PORTS.sub(":<node port>/", cell))


def _own(key: str, entry: Json) -> Json:
    word = _OWN.get(key)
    return word if isinstance(entry, str) and (entry or word == "<build>") else None


def _hide_generated(made: dict[str, Json]) -> None:
    """The random end of a generated name, and node ports nobody asked for by number."""
    prefix = made.get("generateName")
    if prefix and isinstance(made.get("name"), str) and made["name"].startswith(prefix):
        made["name"] = prefix + "<random>"
    if made.get("columnDefinitions"):
        # The names of columns are behaviour; what they are said to mean is prose.
        made["columnDefinitions"] = [
            {key: column[key] for key in column if key != "description"}
            for column in made["columnDefinitions"]
        ]
    if "columnDefinitions" in made:
        for row in made["rows"] or ():
            row["cells"] = [_cell(cell) for cell in row["cells"]]
    for key in ("nodePort", "healthCheckNodePort"):
        port = made.get(key)
        if isinstance(port, int) and port >= 30000 and port != 30080:
            made[key] = "<node port>"


def differences(expected: Json, found: Json, path: str = "") -> Iterator[str]:
    """One line per place where the two differ."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in sorted({*expected, *found}):
            yield from _difference_at(expected, found, key, f"{path}.{key}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for number, (left, right) in enumerate(zip(expected, found, strict=True)):
            yield from differences(left, right, f"{path}[{number}]")
    elif expected != found or isinstance(expected, bool) != isinstance(found, bool):
        yield f"{path}: upstream {_short(expected)}, winkube {_short(found)}"


def _difference_at(
    expected: dict[str, Json], found: dict[str, Json], key: str, path: str
) -> Iterable[str]:
    if key not in found:
        return [f"{path}: upstream {_short(expected[key])}, winkube has none"]
    if key not in expected:
        return [f"{path}: upstream has none, winkube {_short(found[key])}"]
    if key == "managedFields":
        # Managers stand in the order of their times, which end in whole seconds.
        return differences(_in_order(expected[key]), _in_order(found[key]), path)
    return differences(expected[key], found[key], path)


def _in_order(managers: Json) -> Json:
    return (
        sorted(managers, key=functools.partial(json.dumps, sort_keys=True))
        if isinstance(managers, list)
        else managers
    )


def _short(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 400 else text[:400] + " …"
