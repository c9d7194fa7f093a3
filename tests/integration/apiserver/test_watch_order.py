"""Whatever is written, and however it is put together: watches tell it once, in order, and all."""

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

APPLY = "application/apply-patch+yaml"
COLOR = "color"


def write(api: Any, root: str, seed: int) -> None:
    """Make, change and delete few objects, again and again."""
    chance = random.Random(seed)
    for number in range(60):
        name = f"m-{seed}-{chance.randrange(3)}"
        if chance.random() < 0.2:
            assert api("DELETE", f"{root}/{name}").status in (200, 404)
        meta = {"name": name, "labels": {COLOR: chance.choice(["red", "blue"])}}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
        body["data"] = {"number": str(number)}
        query = "fieldManager=a&force=true"
        answer = api("PATCH", f"{root}/{name}?{query}", body, Content_Type=APPLY)
        assert answer.status in (200, 201)


class Reader:
    """What somebody knows who has only a watch, and has seen how far it is."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}
        self.last = 0

    def take(self, event: Any) -> None:
        metadata = event["object"]["metadata"]
        revision = int(metadata["resourceVersion"])
        if event["type"] == "BOOKMARK":
            assert revision >= self.last
            self.last = revision
            return
        assert revision > self.last, "also than any bookmark before"
        self.last = revision
        assert (metadata["name"] in self.known) == (event["type"] != "ADDED")
        if event["type"] == "DELETED":
            del self.known[metadata["name"]]
        else:
            self.known[metadata["name"]] = revision


@pytest.mark.parametrize("query", ["", "&labelSelector=color%3Dred"], ids=["all", "some"])
def test_a_watch_tells_everything_once_and_in_order(
    api: Any, space: str, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winkube.apiserver.watch._BOOKMARK_SECONDS", 0.02)
    root = f"/api/v1/namespaces/{space}/configmaps"
    version = api("GET", root).body["metadata"]["resourceVersion"]
    path = f"{root}?watch=1&allowWatchBookmarks=true&resourceVersion={version}{query}"
    reader = Reader()
    with api.watch(path) as take, ThreadPoolExecutor(2) as pool:
        writers = [pool.submit(write, api, root, seed) for seed in range(2)]
        while not all(writer.done() for writer in writers):
            reader.take(take())
        for writer in writers:
            writer.result()
        listing = api("GET", f"{root}?{query}").body
        while reader.last < int(listing["metadata"]["resourceVersion"]):
            reader.take(take())
    items = [item["metadata"] for item in listing["items"]]
    assert reader.known == {item["name"]: int(item["resourceVersion"]) for item in items}
