"""Few large writes at a time, and tenants take turns."""

import asyncio

from winkube.apiserver.room import ASKED_SEATS, LARGE, NOBODY, SEATS, SHARE, Room

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


async def test_writes_that_slow_webhooks_hold_up_leave_room_to_others() -> None:
    room, may_end = Room(), asyncio.Event()
    under_way: list[str] = []
    slow, other = frozenset({"slow", "all"}), frozenset({"all"})

    async def write(tenant: str, asked: frozenset[str] = NOBODY) -> None:
        async def work() -> None:
            under_way.append(tenant)
            await may_end.wait()

        await room.write(tenant, 3 * MEGABYTE, work, asked)

    async with asyncio.TaskGroup() as group:
        for number in range(60):
            for _ in range(20):
                group.create_task(write(f"slow-{number}", slow))
        await settle()
        assert 0 < len(under_way) * 24 <= ASKED_SEATS + 24
        assert len(set(under_way)) == len(under_way), "one tenant has one at once"
        waited = len(under_way)
        for number in range(4):
            group.create_task(write(f"free-{number}"))
        group.create_task(write("alice", other))
        await settle()
        assert len(under_way) == waited + 5
        # However many webhooks are slow, who asks none finds room.
        for number in range(60):
            group.create_task(write(f"{number}", frozenset({"slow", f"{number}"})))
        group.create_task(write("bob"))
        await settle()
        assert "bob" in under_way
        may_end.set()
    assert len(under_way) == 60 * 20 + 5 + 60 + 1
    assert not room.lines


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


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
