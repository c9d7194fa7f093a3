from winkube.base.types import JsonObject
from winkube.client.events import BURST, FLOW_LIMIT, QUEUE_LIMIT, SIMILAR_LIMIT, EventRecorder
from winkube.client.resource import EVENTS, PODS
from winkube.testing.fake_api import FakeApi
from winkube.testing.fake_clock import FakeClock
from winkube.testing.tasks import running


def a_pod(api: FakeApi, name: str = "web") -> JsonObject:
    return api.seed(PODS, {"metadata": {"name": name}})


async def test_same_event_again_raises_the_count() -> None:
    api = FakeApi()
    pod = a_pod(api)
    recorder = EventRecorder(api, "kubelet", "win-1", clock=FakeClock())
    async with running(recorder.run()):
        recorder.record(pod, "Normal", "Pulled", "pulled it")
        recorder.record({**pod, "spec": {"changed": 1}}, "Normal", "Pulled", "pulled it")
        recorder.record(pod, "Normal", "Started", "started it")
        await recorder.flush()
    events = {event["reason"]: event for event in api.all(EVENTS)}
    assert events["Pulled"]["count"] == 2
    assert events["Started"]["count"] == 1
    assert events["Started"]["source"] == {"component": "kubelet", "host": "win-1"}
    assert events["Started"]["involvedObject"]["uid"] == pod["metadata"]["uid"]


async def test_event_that_expired_is_written_anew() -> None:
    api = FakeApi()
    recorder = EventRecorder(api, "x", clock=FakeClock())
    pod = a_pod(api)
    async with running(recorder.run()):
        recorder.record(pod, "Normal", "R", "m")
        await recorder.flush()
        await api.delete_collection(EVENTS)
        recorder.record(pod, "Normal", "R", "m")
        await recorder.flush()
    assert [event["count"] for event in api.all(EVENTS)] == [1]


async def test_flood_about_one_object_is_cut() -> None:
    api, clock = FakeApi(), FakeClock()
    recorder = EventRecorder(api, "x", clock=clock)
    pod, other = a_pod(api), a_pod(api, "other")
    async with running(recorder.run()):
        for number in range(100):
            recorder.record(pod, "Normal", "R", f"{number}")
        recorder.record(other, "Normal", "R", "still heard")
        await recorder.flush()
    assert sum(event["count"] for event in api.all(EVENTS)) == BURST + 1


async def test_many_events_that_differ_in_words_only_are_combined() -> None:
    api, clock = FakeApi(), FakeClock()
    recorder = EventRecorder(api, "x", clock=clock)
    pod = a_pod(api)
    async with running(recorder.run()):
        for number in range(12):
            recorder.record(pod, "Normal", "R", f"{number}")
        recorder.record(pod, "Normal", "Other", "on its own")
        await recorder.flush()
    said = {event["message"]: event["count"] for event in api.all(EVENTS)}
    assert said["(combined from similar events): 11"] == 3
    assert len(said) == SIMILAR_LIMIT + 1
    assert said["on its own"] == 1


async def test_events_about_thousands_of_objects_hide_nobody_elses() -> None:
    api = FakeApi()
    recorder = EventRecorder(api, "x", clock=FakeClock())

    def pod(namespace: str, name: str) -> JsonObject:
        return {"metadata": {"namespace": namespace, "name": name, "uid": name}}

    for number in range(QUEUE_LIMIT + 100):
        recorder.record(pod("flood", f"p-{number}"), "Normal", "R", "m")
    recorder.record(pod("shop", "p"), "Normal", "R", "m")

    def about() -> list[str]:
        return [event["involvedObject"]["namespace"] for event in api.all(EVENTS)]

    async with running(recorder.run()):
        await recorder.flush()
    assert about().index("shop") <= 1
    assert about().count("flood") == FLOW_LIMIT
