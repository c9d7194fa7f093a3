from winkube.aio.backoff import Backoff
from winkube.scheduler.events import ClusterEvent
from winkube.scheduler.queue import SchedulingQueue, Waiting
from winkube.scheduler.shape import PodInfo, ShapeCache
from winkube.testing.fake_clock import FakeClock

SHAPES = ShapeCache()
RULES = frozenset(("NodeResourcesFit",))
EVENT = ClusterEvent(node=frozenset(("added",)))


def pod(name: str, priority: int = 0) -> PodInfo:
    metadata = {"name": name, "namespace": "default", "uid": name}
    return SHAPES.pod({"metadata": metadata, "spec": {"priority": priority}})


def queue(clock: FakeClock) -> SchedulingQueue:
    return SchedulingQueue(clock, Backoff(first=1.0, ceiling=10.0), 300.0)


def names(waiting: SchedulingQueue, rules: frozenset[str] = RULES) -> list[str]:
    found = []
    while (entry := waiting.pop_now()) is not None:
        found.append(entry.pod.uid)
        waiting.park(entry, rules)
    return found


def test_priority_first_then_age() -> None:
    clock = FakeClock()
    waiting = queue(clock)
    for name, priority in (("old", 0), ("young", 0), ("vip", 1000)):
        waiting.add(pod(name, priority))
        clock.advance(0.1)
    assert names(waiting) == ["vip", "old", "young"]


def test_a_pod_that_was_tried_goes_behind_those_that_were_not() -> None:
    clock = FakeClock()
    waiting = queue(clock)
    waiting.add(pod("first"))
    assert names(waiting) == ["first"]
    clock.advance(2)
    waiting.add(pod("second"))
    clock.advance(2)
    waiting.happened(EVENT)
    assert names(waiting) == ["first", "second"]
    waiting.add(pod("third"))
    clock.advance(20)
    waiting.happened(EVENT)
    assert names(waiting)[:1] == ["third"]


def test_parked_pod_waits_for_a_change_and_is_tried_early_when_nothing_else_is_to_do() -> None:
    clock = FakeClock()
    waiting = queue(clock)
    waiting.add(pod("p"))
    assert names(waiting) == ["p"]
    clock.advance(0.5)
    assert names(waiting) == []
    waiting.happened(EVENT)
    assert names(waiting) == ["p"]


def test_back_off_lets_others_go_first() -> None:
    clock = FakeClock()
    waiting = queue(clock)
    waiting.add(pod("p", 1000))
    assert names(waiting) == ["p"]
    clock.advance(0.1)
    waiting.happened(EVENT)
    waiting.add(pod("q"))
    entry = waiting.pop_now()
    assert entry is not None
    assert entry.pod.uid == "q"


def test_only_pods_the_event_can_help_are_moved() -> None:
    clock = FakeClock()

    def helps(event: ClusterEvent, entry: Waiting) -> bool:
        return entry.pod.uid == "lucky"

    waiting = SchedulingQueue(clock, Backoff(first=1.0, ceiling=10.0), 300.0, helps)
    for number, name in enumerate(("lucky", "other")):
        waiting.add(pod(name, number))
    assert sorted(names(waiting)) == ["lucky", "other"]
    clock.advance(5)
    waiting.happened(EVENT)
    assert names(waiting) == ["lucky"]


def test_held_pod_waits_until_it_is_released() -> None:
    clock = FakeClock()
    waiting = queue(clock)
    waiting.add(pod("p"))
    assert names(waiting) == ["p"]
    waiting.hold("p")
    clock.advance(5)
    waiting.happened(EVENT)
    assert names(waiting) == []
    waiting.release("default/p", "p")
    clock.advance(1)
    waiting.happened(EVENT)
    assert names(waiting) == ["p"]
    waiting.hold("p")
    waiting.release("default/p", "p", try_now=True)
    assert names(waiting) == ["p"]


def test_parked_pod_is_tried_again_after_a_long_while() -> None:
    clock = FakeClock()
    waiting = queue(clock)
    waiting.add(pod("p"))
    assert names(waiting) == ["p"]
    clock.advance(301)
    assert names(waiting) == ["p"]


def test_changed_pod_is_tried_again() -> None:
    clock = FakeClock()
    waiting = queue(clock)
    waiting.add(pod("p"))
    assert names(waiting) == ["p"]
    waiting.update(pod("p"), try_now=False)
    assert names(waiting) == []
    waiting.update(pod("p"), try_now=True)
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


def test_pod_that_no_rule_refused_is_tried_again_without_an_event() -> None:
    clock = FakeClock()
    waiting = queue(clock)
    waiting.add(pod("p"))
    assert names(waiting, frozenset()) == ["p"]
    assert names(waiting, frozenset()) == []
    clock.advance(1.1)
    assert names(waiting, frozenset()) == ["p"]
