"""Work aside: the loop goes on, and who wants much waits for himself."""

import asyncio
import sys
import threading

import pytest

from winkube.aio.aside import Aside


async def test_the_loop_goes_on_meanwhile() -> None:
    go_on = threading.Event()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(Aside().run("a", lambda: go_on.wait(60)), name="work")
        await asyncio.sleep(0)
        go_on.set()  # which nobody could do if the loop stood still
    assert task.result()


async def test_who_wants_much_waits_for_himself() -> None:
    aside, order, begin = Aside(), list[str](), threading.Event()

    async def want(flow: str, name: str) -> None:
        def work() -> None:
            begin.wait(60)
            order.append(name)

        await aside.run(flow, work)

    async with asyncio.TaskGroup() as group:
        for flow, name in (("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1")):
            group.create_task(want(flow, name), name=name)
        await asyncio.sleep(0)
        begin.set()
    assert order.index("b1") < order.index("a3")


async def test_errors_come_back_and_leave_no_trace() -> None:
    aside, usual = Aside(), sys.getswitchinterval()

    def fail() -> None:
        raise ValueError("as it is")

    with pytest.raises(ValueError, match="as it is"):
        await aside.run("a", fail)
    assert await aside.run("a", lambda: 1) == 1
    assert sys.getswitchinterval() == usual
