from winkube.apiserver.call import shown_warnings


def test_warnings_are_said_once_and_whole_while_they_fit() -> None:
    long = "x" * 4000
    assert shown_warnings(["a", long, "", "a"]) == ["a", long]


def test_warnings_that_are_too_much_for_a_header_are_cut() -> None:
    assert shown_warnings(["a", "x" * 5000]) == ["a", "x" * 256]
    many = [f"{number:0300}" for number in range(1000)]
    shown = shown_warnings(many)
    assert set(map(len, shown)) == {256}
    assert len(shown) == 16


def test_many_short_warnings_end_where_the_header_is_full() -> None:
    shown = shown_warnings([f"{number:04}" for number in range(5000)])
    assert shown == [f"{number:04}" for number in range(1025)]


def test_warnings_that_no_header_can_say_are_left_out() -> None:
    assert shown_warnings(["a\0", "b\n", "c", "\x7f", "\x85", "ü"]) == ["c", "ü"]
