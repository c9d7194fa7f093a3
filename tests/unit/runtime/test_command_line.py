import pytest

from winkube.runtime.command_line import ImageCommand, escape_arg, plan_command_line
from winkube.runtime.errors import InvalidArgumentError


@pytest.mark.parametrize(
    ("arg", "escaped"),
    [
        ("", '""'),
        ("plain", "plain"),
        ("two words", '"two words"'),
        ('say "hi"', '"say \\"hi\\""'),
        ("C:\\dir\\", "C:\\dir\\"),
        ("C:\\my dir\\", '"C:\\my dir\\\\"'),
        ('a\\"b', 'a\\\\\\"b'),
        ("tab\there", '"tab\there"'),
    ],
)
def test_arguments_are_escaped_as_the_c_runtime_reads_them(arg: str, escaped: str) -> None:
    assert escape_arg(arg) == escaped


def test_the_pods_command_takes_the_place_of_entrypoint_and_cmd() -> None:
    image = ImageCommand(("a.exe",), ("x",))
    assert plan_command_line(image, ["b.exe"], []) == "b.exe"


def test_the_pods_args_take_the_place_of_cmd_only() -> None:
    image = ImageCommand(("a.exe",), ("x",))
    assert plan_command_line(image, [], ["y z"]) == 'a.exe "y z"'


def test_a_shell_form_entrypoint_is_a_command_line_already() -> None:
    image = ImageCommand(("cmd /S /C echo hi there",), ("x y",), args_escaped=True)
    assert plan_command_line(image, [], []) == 'cmd /S /C echo hi there "x y"'


def test_a_command_of_the_pod_is_escaped_even_for_a_shell_form_image() -> None:
    image = ImageCommand(("cmd /S /C x",), args_escaped=True)
    assert plan_command_line(image, ["a b"], []) == '"a b"'


def test_nothing_to_run_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="no command specified"):
        plan_command_line(ImageCommand(), [], [])
