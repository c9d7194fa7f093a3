from winkube.aio.backoff import Backoff
from winkube.scheduler.queue import SchedulingQueue
from winkube.scheduler.shape import PodInfo, ShapeCache
from winkube.testing.fake_clock import FakeClock

SHAPES = ShapeCache()


def pod(name: str, priority: int = 0) -> PodInfo:
    metadata = {"name": name, "namespace": "default", "uid": name}
    return SHAPES.pod({"metadata": metadata, "spec": {"priority": priority}})


def queue(clock: FakeClock) -> SchedulingQueue:
    return SchedulingQueue(clock, Backoff(first=1.0, ceiling=10.0), 300.0)


def names(waiting: SchedulingQueue) -> list[str]:
    found = []
    while (entry := waiting.pop_now()) is not None:
        found.append(entry.pod.uid)
        waiting.park(entry)
    return found


def test_priority_first_then_age() -> None:
    clock = FakeClock()
    waiting = queue(clock)
    for name, priority in (("old", 0), ("young", 0), ("vip", 1000)):
        waiting.add(pod(name, priority))
        clock.advance(0.1)
    assert names(waiting) == ["vip", "old", "young"]


def test_parked_pod_waits_for_a_change_and_its_back_off() -> None:
    clock = FakeClock()
    waiting = queue(clock)
    waiting.add(pod("p"))
    assert names(waiting) == ["p"]
    clock.advance(0.5)
    assert names(waiting) == []
    waiting.move_all()
    assert names(waiting) == []
    clock.advance(0.6)
    assert names(waiting) == ["p"]
    clock.advance(1.5)
    waiting.move_all()
    assert names(waiting) == []
    clock.advance(0.6)
    assert names(waiting) == ["p"]


def test_parked_pod_is_tried_again_after_a_long_while() -> None:
    clock = FakeClock()
    waiting = queue(clock)
    waiting.add(pod("p"))
    assert names(waiting) == ["p"]
    clock.advance(301)
    assert names(waiting) == ["p"]


def test_changed_pod_is_tried_at_once() -> None:
    clock = FakeClock()
    waiting = queue(clock)
    waiting.add(pod("p"))
    assert names(waiting) == ["p"]
    waiting.add(pod("p"))
    assert names(waiting) == ["p"]


def test_removed_pod_is_not_handed_out() -> None:
    waiting = queue(FakeClock())
    waiting.add(pod("p"))
    waiting.remove("default/p")
    assert names(waiting) == []
    assert len(waiting) == 0


def test_failed_binding_comes_back_after_its_back_off() -> None:
    clock = FakeClock()
    waiting = queue(clock)
    waiting.add(pod("p"))
    entry = waiting.pop_now()
    assert entry is not None
    waiting.remove("default/p")
    waiting.retry(entry)
    assert names(waiting) == []
    clock.advance(1.1)
    assert names(waiting) == ["p"]
