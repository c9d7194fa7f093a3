"""Few large writes at a time, and users take turns."""

import asyncio

from winkube.apiserver.room import SEATS, SHARE, Room


async def test_one_user_has_a_few_seats_and_others_have_theirs() -> None:
    room, may_end = Room(), asyncio.Event()
    under_way: list[str] = []

    async def write(user: str) -> None:
        async def work() -> None:
            under_way.append(user)
            await may_end.wait()

        await room.write(user, work)

    async with asyncio.TaskGroup() as group:
        for _ in range(100):
            group.create_task(write("mallory"))
        group.create_task(write("alice"))
        await asyncio.sleep(0)
        assert under_way == ["mallory"] * SHARE + ["alice"]
        for number in range(100):
            group.create_task(write(f"user-{number}"))
        await asyncio.sleep(0)
        assert len(under_way) == SEATS
        may_end.set()
    assert len(under_way) == 201


async def test_a_write_that_fails_gives_its_seat_back() -> None:
    room = Room()

    async def fail() -> None:
        raise ValueError

    for _ in range(2 * SEATS):
        try:
            await room.write("u", fail)
        except ValueError:
            continue
    async with asyncio.timeout(10):
        assert await room.write("u", lambda: asyncio.sleep(0, "done")) == "done"
