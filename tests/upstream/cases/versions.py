"""Resource versions: what get, list and watch make of the present, the past and the future."""

from collections.abc import Callable
from typing import Any

from tests.upstream.exchange import MERGE, Answers, Case, Step

MAPS = "/api/v1/namespaces/{ns}/configmaps"
SOON = "timeoutSeconds=1"


def a_map(name: str) -> Step:
    return Step("POST", MAPS, {"metadata": {"name": name, "labels": {"on": name}}})


def at(number: int, query: str, *, plus: int = 0, item: str = "") -> Callable[[Answers], str]:
    """``query`` with VERSION replaced by the version a step answered with."""

    def path(answers: Answers) -> str:
        version = int(answers[number].body["metadata"]["resourceVersion"]) + plus
        return f"{MAPS}{item}?{query.replace('VERSION', str(version))}"

    return path


def next_page(number: int, query: str) -> Callable[[Answers], str]:
    def path(answers: Answers) -> str:
        token: Any = answers[number].body["metadata"].get("continue")
        return f"{MAPS}?{query}&continue={token}"

    return path


THREE = [a_map("a"), a_map("b"), a_map("c")]
CHANGE = Step("PATCH", f"{MAPS}/a", {"data": {"k": "v"}}, MERGE)
FUTURE = 1_000_000

CASES = [
    Case(
        "gets",
        [
            *THREE,
            CHANGE,
            Step("GET", at(0, "resourceVersion=VERSION", item="/a")),
            Step("GET", at(3, "resourceVersion=VERSION", item="/a")),
            Step("GET", f"{MAPS}/a?resourceVersion=0"),
            Step("GET", at(3, "resourceVersion=VERSION", plus=FUTURE, item="/a")),
            Step("GET", f"{MAPS}/none?resourceVersion=0"),
        ],
        managed=False,
    ),
    Case(
        "lists",
        [
            *THREE,
            CHANGE,
            Step("GET", at(1, "resourceVersion=VERSION")),
            Step("GET", at(1, "resourceVersion=VERSION&resourceVersionMatch=NotOlderThan")),
            Step("GET", at(1, "resourceVersion=VERSION&resourceVersionMatch=Exact")),
            Step("GET", at(0, "resourceVersion=VERSION&resourceVersionMatch=Exact")),
            Step("GET", at(3, "resourceVersion=VERSION&resourceVersionMatch=Exact")),
            Step("GET", at(1, "resourceVersion=VERSION&limit=1")),
            Step("GET", at(1, "resourceVersion=VERSION&limit=1&resourceVersionMatch=Exact")),
            Step("GET", at(2, "resourceVersion=VERSION&labelSelector=on%3Da")),
            Step("GET", f"{MAPS}?resourceVersion=0&limit=1"),
            Step("GET", f"{MAPS}?resourceVersion=1&resourceVersionMatch=NotOlderThan"),
        ],
        managed=False,
    ),
    Case(
        "the future",
        [
            a_map("a"),
            Step("GET", at(0, "resourceVersion=VERSION", plus=FUTURE)),
            Step(
                "GET",
                at(0, "resourceVersion=VERSION&resourceVersionMatch=NotOlderThan", plus=FUTURE),
            ),
            Step("GET", at(0, "resourceVersion=VERSION&resourceVersionMatch=Exact", plus=FUTURE)),
            Step("GET", at(0, f"watch=1&resourceVersion=VERSION&{SOON}", plus=FUTURE)),
        ],
        managed=False,
    ),
    Case(
        "pages",
        [
            *THREE,
            Step("GET", f"{MAPS}?limit=1"),
            a_map("d"),
            Step("GET", next_page(3, "limit=1")),
            Step("GET", next_page(5, "limit=5")),
            Step("GET", next_page(3, "limit=1&resourceVersion=1")),
            Step("GET", next_page(3, "limit=1&resourceVersionMatch=Exact")),
            Step("GET", next_page(3, "limit=1&labelSelector=on%3Dc")),
            Step("GET", next_page(3, "limit=0")),
            Step("GET", f"{MAPS}?limit=3"),
            Step("GET", f"{MAPS}?limit=4"),
        ],
        managed=False,
    ),
    Case(
        "watches",
        [
            *THREE,
            CHANGE,
            Step("GET", at(0, f"watch=1&resourceVersion=VERSION&{SOON}")),
            Step("GET", at(3, f"watch=1&resourceVersion=VERSION&{SOON}")),
            Step("GET", f"{MAPS}?watch=1&resourceVersion=0&{SOON}&labelSelector=on%3Da"),
            Step("GET", f"{MAPS}?watch=1&resourceVersion=0&{SOON}&fieldSelector=metadata.name%3Da"),
            # Not from version 1: how far back a server remembers depends on all that came before.
            Step("GET", f"{MAPS}/a?watch=1&{SOON}"),
            Step("GET", f"/api/v1/watch/namespaces/{{ns}}/configmaps/a?{SOON}"),
        ],
        managed=False,
    ),
    Case(
        "watches that begin with what is there",
        [
            *THREE,
            Step(
                "GET",
                f"{MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                f"&resourceVersion=0&{SOON}",
            ),
            Step(
                "GET",
                f"{MAPS}?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
                f"&resourceVersion=0&{SOON}",
            ),
            Step(
                "GET",
                f"{MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=Exact&{SOON}",
            ),
            Step("GET", f"{MAPS}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
        ],
        managed=False,
    ),
]
