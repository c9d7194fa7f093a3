"""Which program a container runs, as the one command line Windows starts programs by."""

from collections.abc import Sequence
from dataclasses import dataclass

from winkube.runtime.errors import InvalidArgumentError


@dataclass(frozen=True, slots=True)
class ImageCommand:
    """The parts of an image's config that decide what runs."""

    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    args_escaped: bool = False  # the first word is a whole command line already (shell form)


def escape_arg(arg: str) -> str:
    """Quote so that the C runtime's parser gives the argument back (CommandLineToArgvW's rules)."""
    if not arg:
        return '""'
    out: list[str] = []
    slashes = 0
    for char in arg:
        if char == "\\":
            slashes += 1
            continue
        if char == '"':
            out.append("\\" * (2 * slashes + 1))
        else:
            out.append("\\" * slashes)
        out.append(char)
        slashes = 0
    if " " in arg or "\t" in arg:
        # Backslashes before the closing quote would escape it.
        return '"' + "".join(out) + "\\" * (2 * slashes) + '"'
    return "".join(out) + "\\" * slashes


def join_args(args: Sequence[str]) -> str:
    return " ".join(map(escape_arg, args))


def plan_command_line(image: ImageCommand, command: Sequence[str], args: Sequence[str]) -> str:
    """Combine the image's and the pod's words as containerd does for Windows containers."""
    words, from_image = list(command), False
    arguments = list(args)
    if not words:
        if not arguments:
            arguments = list(image.cmd)
            from_image = bool(arguments)
        if image.entrypoint and image.entrypoint != ("",):
            words = list(image.entrypoint)
            from_image = True
    words += arguments
    if not words:
        raise InvalidArgumentError("no command specified")
    if image.args_escaped and from_image:
        return " ".join([words[0], *map(escape_arg, words[1:])])
    return join_args(words)
