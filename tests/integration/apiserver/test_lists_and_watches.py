"""Lists show one moment; watches continue from it."""

import contextlib
from typing import Any

import pytest
from aiohttp import web

from winkube.apiserver.render import Renderer


def config(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}}


@pytest.fixture
def maps(space: str) -> str:
    return f"/api/v1/namespaces/{space}/configmaps"


def names(listing: Any) -> list[str]:
    return [item["metadata"]["name"] for item in listing["items"]]


def test_list_selects_by_label_and_field(api: Any, maps: str) -> None:
    for name, color in (("a", "red"), ("b", "blue"), ("c", "red")):
        api("POST", maps, config(name, color=color))
    assert names(api("GET", f"{maps}?labelSelector=color%3Dred").body) == ["a", "c"]
    assert names(api("GET", f"{maps}?fieldSelector=metadata.name!%3Da").body) == ["b", "c"]
    assert names(api("GET", f"{maps}?labelSelector=color+in+(blue)").body) == ["b"]
    wrong = api("GET", f"{maps}?fieldSelector=spec.x%3D1")
    assert wrong.status == 400
    assert "is not a known field selector" in wrong.message


def test_pages_show_the_moment_of_the_first(api: Any, maps: str) -> None:
    for name in "abcde":
        api("POST", maps, config(name))
    first = api("GET", f"{maps}?limit=2").body
    assert names(first) == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 3
    api("DELETE", f"{maps}/c")
    api("POST", maps, config("cc"))
    token = first["metadata"]["continue"]
    second = api("GET", f"{maps}?limit=2&continue={token}").body
    assert names(second) == ["c", "d"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    token = second["metadata"]["continue"]
    last = api("GET", f"{maps}?limit=2&continue={token}").body
    assert names(last) == ["e"]
    assert "continue" not in last["metadata"]


def test_damaged_continue_token_is_a_bad_request(api: Any, maps: str) -> None:
    assert api("GET", f"{maps}?continue=%00%00").status == 400


def test_exact_version_lists_the_past(api: Any, maps: str) -> None:
    api("POST", maps, config("a"))
    then = api("GET", maps).body["metadata"]["resourceVersion"]
    api("DELETE", f"{maps}/a")
    past = api("GET", f"{maps}?resourceVersion={then}&resourceVersionMatch=Exact").body
    assert names(past) == ["a"]


def test_future_version_is_too_large(api: Any, maps: str) -> None:
    answer = api("GET", f"{maps}?resourceVersion=99999999")
    assert answer.status == 504
    assert "Too large resource version" in answer.message


def test_watch_from_a_list_misses_nothing(api: Any, maps: str) -> None:
    api("POST", maps, config("a"))
    version = api("GET", maps).body["metadata"]["resourceVersion"]
    api("POST", maps, config("b"))
    with api.watch(f"{maps}?watch=true&resourceVersion={version}") as take:
        event = take()
        assert event["type"] == "ADDED"
        assert event["object"]["metadata"]["name"] == "b"
        api("PUT", f"{maps}/b", {**config("b"), "data": {"k": "v"}})
        event = take()
        assert event["type"] == "MODIFIED"
        changed = int(event["object"]["metadata"]["resourceVersion"])
        api("DELETE", f"{maps}/b")
        event = take()
        assert event["type"] == "DELETED"
        assert int(event["object"]["metadata"]["resourceVersion"]) > changed


@pytest.mark.parametrize("version", ["", "&resourceVersion=0"])
def test_watch_without_version_begins_with_what_exists(api: Any, maps: str, version: str) -> None:
    api("POST", maps, config("a"))
    with api.watch(f"{maps}?watch=1{version}") as take:
        event = take()
        assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")


def test_watch_list_ends_its_beginning_with_a_bookmark(api: Any, maps: str) -> None:
    api("POST", maps, config("a"))
    query = "watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
    with api.watch(f"{maps}?{query}&resourceVersionMatch=NotOlderThan") as take:
        assert take()["type"] == "ADDED"
        end = take()
        assert end["type"] == "BOOKMARK"
        assert end["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_what_leaves_the_selection_is_deleted_for_its_watcher(api: Any, maps: str) -> None:
    with api.watch(f"{maps}?watch=1&labelSelector=on%3Dyes") as take:
        api("POST", maps, config("a", on="no"))
        api("PUT", f"{maps}/a", config("a", on="yes"))
        assert take()["type"] == "ADDED"
        api("PUT", f"{maps}/a", config("a", on="no"))
        event = take()
        assert event["type"] == "DELETED"
        assert event["object"]["metadata"]["labels"] == {"on": "yes"}


def test_watch_of_one_name_sees_only_it(api: Any, maps: str) -> None:
    with api.watch(f"{maps}?watch=1&fieldSelector=metadata.name%3Db") as take:
        api("POST", maps, config("a"))
        api("POST", maps, config("b"))
        assert take()["object"]["metadata"]["name"] == "b"


def test_watch_ends_with_its_timeout_and_a_bookmark(api: Any, maps: str) -> None:
    with api.watch(f"{maps}?watch=1&timeoutSeconds=1&allowWatchBookmarks=true") as take:
        assert take()["type"] == "BOOKMARK"
        assert take() is None


def test_table_has_rows_with_metadata(api: Any, maps: str) -> None:
    api("POST", maps, config("a"))
    table = api("GET", maps, Accept="application/json;as=Table;v=v1;g=meta.k8s.io").body
    assert table["kind"] == "Table"
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    row = table["rows"][0]
    assert row["cells"][:2] == ["a", 0]
    assert row["object"]["kind"] == "PartialObjectMetadata"


def test_metadata_only_leaves_the_rest_out(api: Any, maps: str) -> None:
    api("POST", maps, {**config("a"), "data": {"k": "v"}})
    accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    listing = api("GET", maps, Accept=accept).body
    assert listing["kind"] == "PartialObjectMetadataList"
    assert set(listing["items"][0]) == {"kind", "apiVersion", "metadata"}


def test_watch_as_table_sends_rows(api: Any, maps: str) -> None:
    api("POST", maps, config("a"))
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    answer = api("GET", f"{maps}?watch=1&timeoutSeconds=1", Accept=accept)
    assert answer.body["object"]["rows"][0]["cells"][0] == "a"


def test_yaml_goes_both_ways(api: Any, maps: str) -> None:
    text = b"metadata:\n  name: z\ndata:\n  when: 2020-01-01\n"
    made = api("POST", maps, text, Content_Type="application/yaml", Accept="application/yaml")
    assert made.status == 201
    assert b"name: z" in made.body
    assert b"2020-01-01" in made.body


def test_event_is_served_by_both_groups(api: Any, space: str) -> None:
    core = f"/api/v1/namespaces/{space}/events"
    body = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": space},
        "reason": "Because",
        "message": "it happened",
        "type": "Normal",
    }
    assert api("POST", core, body).status == 201
    other = api("GET", f"/apis/events.k8s.io/v1/namespaces/{space}/events/e").body
    assert (other["note"], other["regarding"]["name"]) == ("it happened", "p")
    assert other["apiVersion"] == "events.k8s.io/v1"


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a watch does: makes a frame ready, sends what it has."""
    done: list[str] = []
    make, send = Renderer.item, web.StreamResponse.write

    def item(*args: Any, **manner: Any) -> bytes:
        done.append("made")
        return make(*args, **manner)

    async def write(response: web.StreamResponse, data: Any) -> None:
        done.append("sent")
        await send(response, data)

    monkeypatch.setattr(Renderer, "item", item)
    monkeypatch.setattr(web.StreamResponse, "write", write)
    return done


@pytest.mark.parametrize(("limit", "most"), [("_CHUNK", 2), ("_CHUNK_BYTES", 600)])
def test_a_watch_begins_bit_by_bit(
    api: Any, space: str, limit: str, most: int, monkeypatch: pytest.MonkeyPatch, steps: list[str]
) -> None:
    """What is there is made ready while it is sent: a large beginning holds nobody up."""
    root = f"/api/v1/namespaces/{space}/configmaps"
    for number in range(6):
        api("POST", root, {"metadata": {"name": f"m-{number}"}, "data": {"a": "b" * 100}})
    monkeypatch.setattr(f"winkube.apiserver.watch.{limit}", most)
    steps.clear()
    with api.watch(f"{root}?watch=1") as take:
        assert [take()["object"]["metadata"]["name"] for _ in range(6)] == [
            f"m-{number}" for number in range(6)
        ]
    assert steps[:9] == ["made", "made", "sent"] * 3


def test_large_changes_are_sent_one_by_one(
    api: Any, space: str, monkeypatch: pytest.MonkeyPatch, steps: list[str]
) -> None:
    """A watcher that was behind by much has not everything copied for it at once."""
    root = f"/api/v1/namespaces/{space}/configmaps"
    version = api("GET", root).body["metadata"]["resourceVersion"]
    for number in range(6):
        api("POST", root, {"metadata": {"name": f"m-{number}"}})
    monkeypatch.setattr("winkube.apiserver.watch._CHUNK_BYTES", 1)
    steps.clear()
    with api.watch(f"{root}?watch=1&resourceVersion={version}") as take:
        for number in range(6):
            assert take()["object"]["metadata"]["name"] == f"m-{number}"
        assert steps == ["made", "sent"] * 6


def test_changes_that_follow_closely_are_written_together(
    api: Any, maps: str, monkeypatch: pytest.MonkeyPatch, steps: list[str]
) -> None:
    monkeypatch.setattr("winkube.apiserver.watch._GATHER_SECONDS", 1.0)
    wanted = [f"m-{number}" for number in range(9)]
    with api.watch(f"{maps}?watch=1&resourceVersion=0") as take:
        for name in wanted:
            api("POST", maps, config(name))
        assert [take()["object"]["metadata"]["name"] for _ in wanted] == wanted
    # The first at once; on a slow machine they take more than one second.
    assert steps.count("sent") <= len(wanted) // 2


def test_what_is_said_of_tables_makes_no_renderings_of_its_own(
    api: Any, maps: str, steps: list[str]
) -> None:
    """Else every watcher could have each change kept once more, for itself."""
    made = []
    for number, words in enumerate((("",), ("", "a", "b"))):
        with contextlib.ExitStack() as stack:
            query = f"{maps}?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
            takes = [
                stack.enter_context(api.watch(f"{query}&includeObject={word}")) for word in words
            ]
            steps.clear()
            api("POST", maps, config(f"m-{number}"))
            assert {take()["object"]["metadata"]["name"] for take in takes} == {f"m-{number}"}
            made.append(steps.count("made"))
    assert made[0] == made[1]
