import pytest

from winkube.linux import link


def test_a_command_is_one_line() -> None:
    with pytest.raises(ValueError, match="one line"):
        link.batch(["route replace 10.0.0.0/8 via 192.0.2.1\nnetns exec x y"])
