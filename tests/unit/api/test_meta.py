from winkube.api import meta


def test_keys_and_their_parts() -> None:
    assert meta.key_of({"metadata": {"name": "a", "namespace": "x"}}) == "x/a"
    assert meta.key_of({"metadata": {"name": "a"}}) == "a"
    assert meta.split_key("x/a") == ("x", "a")
    assert meta.split_key("a") == ("", "a")


def test_readers_of_an_empty_object_find_nothing() -> None:
    assert meta.labels_of({}) == {}
    assert meta.resource_version({"metadata": {"resourceVersion": "x1"}}) == 0
    assert meta.resource_version({"metadata": {"resourceVersion": "17"}}) == 17
    assert meta.controller_of({}) is None
    assert not meta.is_deleting({})


def test_an_owner_reference_makes_its_owner_the_controller() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "r", "uid": "u"}}
    child = {"metadata": {"ownerReferences": [meta.to_owner_reference(owner)]}}
    assert meta.is_controlled_by(child, owner)
    assert not meta.is_controlled_by(child, {"metadata": {"uid": "other"}})


def test_a_condition_changes_its_time_only_with_its_status() -> None:
    obj: dict[str, object] = {}
    ready = {"type": "Ready", "status": "False", "reason": "A"}
    assert meta.set_condition(obj, ready, "t1")
    assert not meta.set_condition(obj, ready, "t2")
    assert meta.set_condition(obj, {**ready, "reason": "B"}, "t3")
    found = meta.get_condition(obj, "Ready")
    assert found is not None
    assert (found["reason"], found["lastTransitionTime"]) == ("B", "t1")
    assert meta.set_condition(obj, {**ready, "status": "True"}, "t4")
    assert meta.is_condition_true(obj, "Ready")
    found = meta.get_condition(obj, "Ready")
    assert found is not None
    assert found["lastTransitionTime"] == "t4"


def test_a_heartbeat_is_no_change() -> None:
    obj: dict[str, object] = {}
    meta.set_condition(obj, {"type": "Ready", "status": "True", "lastHeartbeatTime": "1"}, "t1")
    again = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2"}
    assert not meta.set_condition(obj, again, "t2")
    found = meta.get_condition(obj, "Ready")
    assert found is not None
    assert found["lastHeartbeatTime"] == "2"
