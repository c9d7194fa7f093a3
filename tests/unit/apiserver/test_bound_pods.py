"""What the pods of a node refer to."""

import orjson

from winkube.api.kinds import Kind
from winkube.apiserver.auth.node import BoundPods
from winkube.apiserver.cache import ResourceCache
from winkube.apiserver.item import Item
from winkube.apiserver.served import Served

PREFIX = "/registry/pods/"
KIND = Kind("", "v1", "Pod", "pods", "pod", True)


def pod(name: str, revision: int, node: str, secret: str = "s", namespace: str = "n") -> Item:
    spec = {"nodeName": node, "volumes": [{"name": "v", "secret": {"secretName": secret}}]}
    obj = {"metadata": {"name": name, "namespace": namespace}, "spec": spec}
    return Item(f"{PREFIX}{namespace}/{name}", orjson.dumps(obj), revision, (namespace, name))


def test_only_pods_of_the_node_and_the_namespace_are_read_and_those_that_went_forgotten() -> None:
    cache = ResourceCache(PREFIX)
    bound = BoundPods(Served(KIND, KIND, PREFIX, cache))

    def secrets(node: str, namespace: str = "n") -> list[str]:
        bound.catch_up()
        return sorted(name for found in bound.references(node, namespace) for _, name in found)

    cache.put(pod("a", 1, "n1", "one"), 1)
    cache.put(pod("b", 2, "n2", "two"), 2)
    cache.put(pod("c", 3, "n1", "three", namespace="m"), 3)
    cache.put(pod("d", 4, ""), 4)
    assert secrets("n1") == ["one"]
    assert secrets("n1", "m") == ["three"]
    cache.put(pod("d", 5, "n1", "four"), 5)
    cache.put(pod("a", 6, "n1", "five"), 6)
    assert secrets("n1") == ["five", "four"]
    for number, name in enumerate("ad"):
        cache.remove(f"{PREFIX}n/{name}", 7 + number)
    assert secrets("n1") == []
    assert secrets("n2") == ["two"]
