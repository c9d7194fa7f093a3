from winkube.aio.backoff import Backoff
from winkube.scheduler.active import CROWD
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


def test_a_pod_is_moved_by_what_happened_after_its_try_alone() -> None:
    clock = FakeClock()
    waiting = queue(clock)
    waiting.add(pod("early"))
    assert names(waiting) == ["early"]
    clock.advance(5)
    waiting.happened(EVENT)
    assert names(waiting) == ["early"]
    waiting.happened(EVENT)
    waiting.add(pod("late"))
    # Not shown yet: the events before were a moment ago.
    assert names(waiting) == ["late"]
    clock.advance(5)
    assert names(waiting) == ["early"]
    waiting.happened(EVENT)
    clock.advance(5)
    assert sorted(names(waiting)) == ["early", "late"]


def test_what_happened_while_a_pod_was_held_does_not_move_it_later() -> None:
    clock = FakeClock()
    waiting = queue(clock)
    waiting.add(pod("p"))
    assert names(waiting) == ["p"]
    waiting.hold("p")
    waiting.happened(EVENT)
    waiting.release("default/p", "p")
    clock.advance(5)
    assert names(waiting) == []
    clock.advance(1)
    waiting.happened(EVENT)
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


def of(namespace: str, number: int, owner: str = "one") -> PodInfo:
    metadata = {
        "name": f"{owner}-{number}",
        "namespace": namespace,
        "uid": f"{namespace}-{owner}-{number}",
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "controller": True}
        ],
    }
    return SHAPES.pod({"metadata": metadata, "spec": {}})


def test_a_few_pods_wait_for_a_short_line_however_many_another_namespace_wants() -> None:
    clock = FakeClock()
    waiting = queue(clock)
    for number in range(5_000):
        waiting.add(of("flood", number))
    clock.advance(1)
    for number in range(3):
        waiting.add(of("small", number))
    tried = names(waiting)
    assert len(tried) == 5_003
    assert max(tried.index(f"small-one-{number}") for number in range(3)) <= CROWD + 2


def test_refused_pods_of_a_flood_do_not_come_before_new_ones_by_their_age() -> None:
    clock = FakeClock()
    waiting = queue(clock)
    for number in range(1_000):
        waiting.add(of("flood", number))
    names(waiting)
    clock.advance(20)
    waiting.happened(EVENT)
    waiting.add(of("small", 0))
    assert names(waiting).index("small-one-0") <= CROWD


def test_within_a_namespace_workloads_take_turns() -> None:
    clock = FakeClock()
    waiting = queue(clock)
    for number in range(1_000):
        waiting.add(of("shared", number))
    clock.advance(1)
    waiting.add(of("shared", 0, "small"))
    assert names(waiting).index("shared-small-0") <= 2 * CROWD + 2


def test_an_important_pod_does_not_wait_for_a_flood_in_its_namespace() -> None:
    clock = FakeClock()
    waiting = queue(clock)
    for number in range(1_000):
        waiting.add(of("default", number))
    clock.advance(1)
    waiting.add(pod("vip", 10))
    assert names(waiting)[0] == "vip"


def test_a_pod_removed_from_a_flood_is_not_tried() -> None:
    clock = FakeClock()
    waiting = queue(clock)
    for number in range(200):
        waiting.add(of("flood", number))
    for number in range(0, 200, 2):
        waiting.remove(f"flood/one-{number}")
    assert len(names(waiting)) == 100 == len(waiting)


def test_a_namespace_whose_pods_take_long_lets_others_go_first_whatever_their_priority() -> None:
    clock = FakeClock()
    waiting = queue(clock)
    for number in range(50):
        vip = {"name": f"vip-{number}", "namespace": "dear", "uid": f"vip-{number}"}
        waiting.add(SHAPES.pod({"metadata": vip, "spec": {"priority": 1000}}))
    tried: list[str] = []
    while (entry := waiting.pop_now()) is not None:
        tried.append(entry.pod.uid)
        waiting.spent(entry.pod, 0.2 if entry.pod.namespace == "dear" else 0.0)
        clock.advance(0.2)
        waiting.park(entry, RULES)
        if len(tried) in (2, 10, 30):
            waiting.add(of("small", len(tried)))
    assert len(tried) == 53
    # Each was the next to be tried.
    assert [tried.index(f"small-one-{number}") for number in (2, 10, 30)] == [2, 10, 30]


def test_debt_is_paid_by_time_and_cheap_decisions_make_none() -> None:
    clock = FakeClock()
    waiting = queue(clock)
    for name, seconds in (("dear", 1.0), ("cheap", 0.0005)):
        for _ in range(1_000 if name == "cheap" else 1):
            waiting.spent(of(name, 0), seconds)
    for name in ("dear", "cheap", "small"):
        waiting.add(of(name, 0))
        clock.advance(0.01)
    assert names(waiting) == ["cheap-one-0", "small-one-0", "dear-one-0"]
    clock.advance(60)
    for name in ("dear", "small"):
        waiting.add(of(name, 1))
        clock.advance(0.01)
    assert names(waiting)[:2] == ["dear-one-1", "small-one-1"]


def test_fewer_events_are_asked_about_pods_that_say_much() -> None:
    clock = FakeClock()
    asked: list[str] = []

    def hint(event: ClusterEvent, entry: Waiting) -> bool:
        asked.append(entry.pod.uid)
        return False

    waiting = SchedulingQueue(clock, Backoff(first=1.0, ceiling=10.0), 300.0, hint)
    for number in range(200):
        wordy = of("dear", number)
        said = [{"key": f"k-{number}-{each}"} for each in range(1_000)]
        wordy.shape = SHAPES.shape({"tolerations": said})
        waiting.add(wordy)
    names(waiting)
    clock.advance(1)
    for _ in range(10):
        waiting.happened(EVENT)
    waiting.pop_now()
    assert len(asked) <= 50
