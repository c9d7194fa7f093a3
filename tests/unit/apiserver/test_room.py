"""Few large writes at a time, and tenants take turns."""

import asyncio

from winkube.apiserver.room import LARGE, SEATS, SHARE, Room

MEGABYTE = 1024 * 1024


async def test_one_tenant_has_little_room_and_others_have_theirs() -> None:
    room, may_end = Room(), asyncio.Event()
    under_way: list[str] = []

    async def write(tenant: str, size: int = LARGE) -> None:
        async def work() -> None:
            under_way.append(tenant)
            await may_end.wait()

        await room.write(tenant, size, work)

    async with asyncio.TaskGroup() as group:
        for _ in range(2 * SEATS):
            group.create_task(write("mallory"))
        group.create_task(write("alice"))
        await asyncio.sleep(0)
        assert under_way == ["mallory"] * SHARE + ["alice"]
        # Whatever their webhooks do, several who take all they get leave some to who comes later.
        for number in range(8):
            for _ in range(SEATS):
                group.create_task(write(f"slow-{number}", MEGABYTE))
        group.create_task(write("bob", MEGABYTE))
        await asyncio.sleep(0)
        assert under_way[-1] == "bob"
        taken = sum(1 if each in ("mallory", "alice") else 8 for each in under_way)
        assert taken < SEATS + 8
        may_end.set()
    assert len(under_way) == 2 * SEATS + 1 + 8 * SEATS + 1


async def test_a_write_that_fails_gives_its_seat_back() -> None:
    room = Room()

    async def fail() -> None:
        raise ValueError

    for _ in range(2 * SEATS):
        try:
            await room.write("u", 3 * MEGABYTE, fail)
        except ValueError:
            continue
    async with asyncio.timeout(10):
        assert await room.write("u", 3 * MEGABYTE, lambda: asyncio.sleep(0, "done")) == "done"
