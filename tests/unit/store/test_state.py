from hypothesis import given
from hypothesis import strategies as st

from winkube.store.decide import Write, plan_write
from winkube.store.state import State
from winkube.store.types import Entry, Revision

keys = st.text(alphabet="/ab\x00\U0010fffe", max_size=4)
writes = st.lists(
    st.tuples(st.sampled_from(["create", "update", "delete"]), keys, st.binary(max_size=3)),
    max_size=40,
)


def run(steps: list[tuple[str, str, bytes]]) -> tuple[State, dict[str, bytes]]:
    """Apply the same steps to the state and to a plain dict."""
    state, model = State(Revision(0)), dict[str, bytes]()
    for word, key, value in steps:
        write = {
            "create": Write("create", key, value),
            "update": Write("update", key, value),
            "delete": Write("delete", key),
        }[word]
        event = plan_write(write, state.entries.get(key), Revision(state.revision + 1))
        assert (event is not None) == ((key in model) != (word == "create"))
        if event is None:
            continue
        state.apply(event)
        if word == "delete":
            del model[key]
        else:
            model[key] = value
    return state, model


@given(writes, keys, keys, st.integers(0, 5))
def test_the_state_agrees_with_a_dict(
    steps: list[tuple[str, str, bytes]], prefix: str, start_after: str, limit: int
) -> None:
    state, model = run(steps)
    wanted = sorted(key for key in model if key.startswith(prefix) and key > start_after)
    if not start_after:
        wanted = sorted(key for key in model if key.startswith(prefix))
    listing = state.range(prefix, start_after, limit)
    assert [entry.key for entry in listing.entries] == wanted[: limit or None]
    assert listing.more == (bool(limit) and len(wanted) > limit)
    assert all(entry.value == model[entry.key] for entry in listing.entries)


@given(writes, st.integers(0, 45))
def test_replaying_history_gives_what_happened_since(
    steps: list[tuple[str, str, bytes]], after: int
) -> None:
    state, model = run(steps)
    past, _ = run([])
    replay = {}
    for event in state.since("", Revision(0)):
        assert event.revision == past.revision + 1
        past.apply(event)
        replay[event.entry.key] = event
    assert past.entries == state.entries
    assert {key: entry.value for key, entry in state.entries.items()} == model
    late = [event.revision for event in state.since("", Revision(after))]
    assert late == list(range(after + 1, state.revision + 1))


@given(writes, st.integers(0, 45))
def test_forgetting_keeps_the_books(steps: list[tuple[str, str, bytes]], before: int) -> None:
    state, _ = run(steps)
    dropped = state.forget(Revision(before))
    assert len(dropped) == min(before, state.revision)
    assert state.history_bytes == sum(
        len(event.previous.value) for event in state.history if event.previous
    )


def test_an_empty_key_after_start_lists_from_the_beginning() -> None:
    state = State(Revision(0))
    event = plan_write(Write("create", "", b"x"), None, Revision(1))
    assert event is not None
    state.apply(event)
    assert state.range("", "", 0).entries == (Entry("", b"x", Revision(1), Revision(1)),)
