"""When a prepared supervisor may begin."""

import os

from winkube.cluster.daemon import is_told


def test_it_begins_on_the_word_of_a_command_that_waits_for_it() -> None:
    word, tell = os.pipe()
    os.write(tell, b"!")
    assert is_told(word)
    os.close(tell)
    os.close(word)


def test_it_does_not_begin_when_the_command_left_without_a_word() -> None:
    word, tell = os.pipe()
    os.close(tell)
    assert not is_told(word)
    os.close(word)


def test_the_last_word_of_a_killed_command_does_not_count() -> None:
    word, tell = os.pipe()
    os.write(tell, b"!")
    os.close(tell)
    assert not is_told(word)
    os.close(word)
