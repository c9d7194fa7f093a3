"""Whose request is worked on next."""

import asyncio
import math
from typing import TYPE_CHECKING, cast

import pytest
from aiohttp import web

from winkube.api.errors import TooManyRequestsError
from winkube.apiserver.auth.user import User
from winkube.apiserver.call import Call
from winkube.apiserver.deadline import REQUEST_SECONDS, left
from winkube.apiserver.target import Target
from winkube.apiserver.turns import SEATS, Turns

if TYPE_CHECKING:
    from winkube.apiserver.served import Served


def call(user: str, namespace: str, verb: str = "create", resource: str = "pods") -> Call:
    group = "coordination.k8s.io" if resource == "leases" else ""
    target = Target(group, "v1", resource, namespace=namespace)
    nothing = cast("web.BaseRequest", None), cast("Served", None)
    return Call(nothing[0], target, nothing[1], verb, User(user), {})


class Work:
    """Answers one request after the other, and remembers whose."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.may_end = asyncio.Event()

    async def __call__(self, call: Call) -> web.StreamResponse:
        self.began.append(f"{call.user.name}/{call.target.namespace}")
        await self.may_end.wait()
        return web.Response()


async def test_a_flood_of_one_user_keeps_nobody_else_waiting() -> None:
    turns, work = Turns(share=4), Work()
    async with asyncio.TaskGroup() as group:
        for _ in range(100):
            group.create_task(turns.serve(call("mallory", "flood"), work))
        for user, namespace in (("alice", "flood"), ("mallory", "other")):
            group.create_task(turns.serve(call(user, namespace), work))
        await asyncio.sleep(0)
        assert work.began == ["mallory/flood"] * 4 + ["alice/flood", "mallory/other"]
        work.may_end.set()
    assert len(work.began) == 102


@pytest.mark.parametrize(
    ("verb", "resource", "namespace", "waits"),
    [
        ("watch", "pods", "n", False),
        ("update", "leases", "kube-system", False),
        ("update", "leases", "kube-node-lease", False),
        ("update", "leases", "n", True),
    ],
)
async def test_watches_and_leases_of_the_control_plane_never_wait(
    verb: str, resource: str, namespace: str, waits: bool
) -> None:
    turns, work = Turns(share=1), Work()
    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(turns.serve(call("u", namespace), work))
        await asyncio.sleep(0)
        for _ in range(2):
            group.create_task(turns.serve(call("u", namespace, verb, resource), work))
        await asyncio.sleep(0)
        assert len(work.began) == (1 if waits else 3)
        work.may_end.set()


async def test_service_accounts_of_a_namespace_share_a_line_but_not_those_of_the_system() -> None:
    turns, work = Turns(share=2), Work()
    async with asyncio.TaskGroup() as group:
        for number in range(50):
            name = f"system:serviceaccount:flood:many-{number}"
            group.create_task(turns.serve(call(name, "flood"), work))
        for number in range(3):
            name = f"system:serviceaccount:kube-system:controller-{number}"
            group.create_task(turns.serve(call(name, "flood"), work))
        await asyncio.sleep(0)
        assert len(work.began) == 2 + 3
        work.may_end.set()


async def test_who_keeps_seats_for_long_leaves_some_to_who_comes_later() -> None:
    turns, work = Turns(), Work()
    async with asyncio.TaskGroup() as group:
        for number in range(SEATS):
            group.create_task(turns.serve(call(f"slow-{number % 18}", "n"), work))
        await asyncio.sleep(0)
        assert len(work.began) < SEATS
        group.create_task(turns.serve(call("alice", "n"), work))
        await asyncio.sleep(0)
        assert work.began[-1] == "alice/n"
        work.may_end.set()


async def test_a_request_has_a_minute_and_a_stream_all_the_time() -> None:
    found: list[float] = []

    async def look(call: Call) -> web.StreamResponse:
        found.append(left())
        return web.Response()

    turns = Turns()
    for verb in ("create", "watch", "create"):
        await turns.serve(call("u", "n", verb), look)
    assert found[1] == math.inf
    assert all(0 < each <= REQUEST_SECONDS for each in (found[0], found[2]))


async def test_a_line_too_long_is_turned_away_with_a_time_to_come_back() -> None:
    turns, work = Turns(share=1, longest=2), Work()
    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(turns.serve(call("u", "n"), work))
        await asyncio.sleep(0)
        with pytest.raises(TooManyRequestsError) as turned_away:
            await turns.serve(call("u", "n"), work)
        assert turned_away.value.details == {"retryAfterSeconds": 1}
        work.may_end.set()


async def test_a_request_that_fails_leaves_its_seat() -> None:
    turns = Turns(share=1)

    async def fail(call: Call) -> web.StreamResponse:
        raise TooManyRequestsError("no")

    for _ in range(3):
        with pytest.raises(TooManyRequestsError):
            await turns.serve(call("u", "n"), fail)
