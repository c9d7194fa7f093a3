"""When a prepared supervisor may begin."""

import os
from pathlib import Path

from winkube.base.paths import Home
from winkube.cluster.daemon import hear, to_word
from winkube.cluster.spec import ClusterSpec
from winkube.cluster.state import ClusterState

HOME = Home(Path("/there/state"), Path("/there/run"))
WORD = to_word(ClusterState(ClusterSpec(name="one"), "172.30.9.0/24", 6443, HOME))


def test_it_begins_on_the_word_of_a_command_that_waits_for_it() -> None:
    word, tell = os.pipe()
    os.write(tell, WORD)
    assert hear(word) == (HOME, "one")
    os.close(tell)
    os.close(word)


def test_it_does_not_begin_when_the_command_left_without_a_word() -> None:
    word, tell = os.pipe()
    os.close(tell)
    assert hear(word) is None
    os.close(word)


def test_the_last_word_of_a_killed_command_does_not_count() -> None:
    word, tell = os.pipe()
    os.write(tell, WORD)
    os.close(tell)
    assert hear(word) is None
    os.close(word)
