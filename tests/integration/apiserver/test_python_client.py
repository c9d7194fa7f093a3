"""The official Python client works unchanged."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException

# The library has no types: through these names it is Any.
new_client: Any = config.new_client_from_config
Watch: Any = watch.Watch


@pytest.fixture
def core(server: Any) -> Iterator[Any]:
    connection = new_client(str(server.kubeconfig("python")))
    yield client.CoreV1Api(connection)
    connection.close()
    connection.rest_client.pool_manager.clear()


def make_pod(name: str) -> Any:
    container = client.V1Container(name="c", image="i")
    return client.V1Pod(
        metadata=client.V1ObjectMeta(name=name, labels={"app": "x"}),
        spec=client.V1PodSpec(containers=[container]),
    )


def test_life_of_a_pod(core: Any, space: str) -> None:
    made = core.create_namespaced_pod(space, make_pod("p"))
    assert made.status.phase == "Pending"
    assert [p.metadata.name for p in core.list_namespaced_pod(space).items] == ["p"]
    patched = core.patch_namespaced_pod("p", space, {"metadata": {"labels": {"new": "1"}}})
    assert patched.metadata.labels == {"app": "x", "new": "1"}
    core.delete_namespaced_pod("p", space)
    with pytest.raises(ApiException) as caught:
        core.read_namespaced_pod("p", space)
    assert caught.value.status == 404


def test_watch_streams_events(core: Any, space: str) -> None:
    version = core.list_namespaced_pod(space).metadata.resource_version
    seen: list[tuple[str, str]] = []
    stream = Watch()

    def follow() -> None:
        for event in stream.stream(
            core.list_namespaced_pod, space, resource_version=version, timeout_seconds=10
        ):
            seen.append((event["type"], event["object"].metadata.name))
            if len(seen) == 3:
                stream.stop()

    thread = threading.Thread(target=follow)
    thread.start()
    core.create_namespaced_pod(space, make_pod("w"))
    core.delete_namespaced_pod("w", space)
    thread.join(15)
    assert seen == [("ADDED", "w"), ("MODIFIED", "w"), ("DELETED", "w")]


def test_eviction_and_binding_objects_are_understood(core: Any, space: str) -> None:
    core.create_namespaced_pod(space, make_pod("p"))
    target = client.V1ObjectReference(kind="Node", name="n")
    binding = client.V1Binding(metadata=client.V1ObjectMeta(name="p"), target=target)
    core.create_namespaced_binding(space, binding, _preload_content=False)
    assert core.read_namespaced_pod("p", space).spec.node_name == "n"
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name="p", namespace=space))
    core.create_namespaced_pod_eviction("p", space, eviction)
    assert core.read_namespaced_pod("p", space).metadata.deletion_timestamp is not None
    core.delete_namespaced_pod("p", space, grace_period_seconds=0)
