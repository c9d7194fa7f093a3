"""The bounded broadcast."""

from winkube.aio.hub import Hub


async def test_every_reader_gets_every_item_in_order() -> None:
    hub: Hub[int] = Hub(limit=10)
    with hub.subscribe() as first, hub.subscribe() as second:
        for number in range(3):
            hub.publish(number)
        assert await first.take() == await second.take() == [0, 1, 2]


async def test_a_slow_reader_is_cut_off_and_slows_nobody() -> None:
    hub: Hub[int] = Hub(limit=2)
    with hub.subscribe() as slow, hub.subscribe() as fast:
        for number in range(3):
            hub.publish(number)
            if number < 2:
                assert await fast.take() == [number]
        assert slow.lagged
        assert await slow.take() == []
        assert await fast.take() == [2]


async def test_a_reader_that_left_is_forgotten() -> None:
    hub: Hub[int] = Hub()
    with hub.subscribe():
        assert len(hub) == 1
    assert len(hub) == 0
