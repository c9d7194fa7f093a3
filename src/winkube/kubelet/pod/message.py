"""The message a container leaves behind when it ends."""

from pathlib import Path
from typing import Final

from winkube.kubelet.config import KubeletConfig
from winkube.kubelet.pod.state import Container
from winkube.kubelet.server.logfile import open_plain
from winkube.kubelet.volume.mounts import message_file

MAX_MESSAGE: Final = 4096
MAX_LOG_BYTES: Final = 2048
MAX_LOG_LINES: Final = 80


def read_message(config: KubeletConfig, uid: str, container: Container) -> str:
    """What it wrote to its message file, else the end of its log if it asked for that.

    What the runtime has to say about the end comes first.
    """
    text = _tail(message_file(config, uid, container.name, container.attempt), MAX_MESSAGE)
    asked = container.message_policy == "FallbackToLogsOnError" and container.exit_code != 0
    if not text and asked and container.log_path:
        text = _last_lines(Path(container.log_path))
    return ": ".join(filter(None, (container.message, text)))


def _tail(path: Path, limit: int) -> str:
    try:
        with open_plain(path) as file:
            file.seek(max(0, path.stat().st_size - limit))
            return file.read(limit).decode(errors="replace")
    except OSError:
        return ""


def _last_lines(path: Path) -> str:
    try:
        size = path.stat().st_size
        with open_plain(path) as file:
            # Each line has a head of about 40 bytes that is not part of the message.
            file.seek(max(0, size - 4 * MAX_LOG_BYTES))
            lines = file.read(8 * MAX_LOG_BYTES).decode(errors="replace").split("\n")
    except OSError:
        return ""
    texts = [_text(parts) for line in lines if len(parts := line.split(" ", 3)) == 4]
    return "".join(texts[-MAX_LOG_LINES:])[-MAX_LOG_BYTES:]


def _text(parts: list[str]) -> str:
    """A line's own end is the log's, not the program's, when the line goes on (tag ``P``)."""
    _time, _stream, tags, text = parts
    return text if tags.partition(":")[0] == "P" else f"{text}\n"
