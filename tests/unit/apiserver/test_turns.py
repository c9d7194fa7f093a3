"""Whose request is worked on next."""

import asyncio
from typing import TYPE_CHECKING, cast

import pytest
from aiohttp import web

from winkube.api.errors import TooManyRequestsError
from winkube.apiserver.auth.user import User
from winkube.apiserver.call import Call
from winkube.apiserver.target import Target
from winkube.apiserver.turns import Turns

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


@pytest.mark.parametrize(("verb", "resource"), [("watch", "pods"), ("update", "leases")])
async def test_watches_and_leases_never_wait(verb: str, resource: str) -> None:
    turns, work = Turns(share=1), Work()
    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(turns.serve(call("u", "n"), work))
        await asyncio.sleep(0)
        for _ in range(2):
            group.create_task(turns.serve(call("u", "n", verb, resource), work))
        await asyncio.sleep(0)
        assert len(work.began) == 3
        work.may_end.set()


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
