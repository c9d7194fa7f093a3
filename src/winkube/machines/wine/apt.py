"""Where this machine gets Debian packages from: its own apt configuration decides, not our code."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import Final

_FORMAT: Final = "$(REPO_URI)|$(RELEASE)|$(ORIGIN)"


@dataclass(frozen=True, slots=True)
class Source:
    uri: str
    release: str
    origin: str


def parse_targets(text: str) -> list[Source]:
    """Read the lines of ``apt-get indextargets`` in our format."""
    rows = (line.split("|") for line in text.splitlines())
    return [Source(*row) for row in rows if len(row) == 3]


def choose_mirror(sources: list[Source]) -> str | None:
    """The archive a Debian machine installs from; None leaves the choice to mmdebstrap."""
    for source in sources:
        # A release with a dash (bookworm-security, bookworm-updates) may live in another archive.
        if source.origin == "Debian" and "-" not in source.release:
            return source.uri.rstrip("/")
    return None


def find_mirror() -> str | None:
    if shutil.which("apt-get") is None:
        return None
    done = subprocess.run(
        ["apt-get", "indextargets", "--format", _FORMAT, "Created-By: Packages"],
        capture_output=True,
        text=True,
        check=False,
    )
    return choose_mirror(parse_targets(done.stdout)) if done.returncode == 0 else None


def proxy_environment() -> dict[str, str]:
    """The environment for a program that downloads packages: the proxy apt itself would use."""
    env = dict(os.environ)
    if shutil.which("apt-config") is None:
        return env
    done = subprocess.run(
        ["apt-config", "shell", "PROXY", "Acquire::http::Proxy"],
        capture_output=True,
        text=True,
        check=False,
    )
    _, _, value = done.stdout.strip().partition("=")
    if value:
        env.setdefault("http_proxy", value.strip("'"))
    return env
