"""What the name of an image says about the system inside it."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from winkube.facts.windows import builds_by_word

_WINDOWS_REPOSITORY: Final = re.compile(
    r"^(mcr\.microsoft\.com/(windows|dotnet/framework|businesscentral|mssql/server/windows|"
    r"windows-cssc|powershell/test-deps/windows|oss/kubernetes/windows-)|"
    r"(docker\.io/)?microsoft/(windowsservercore|nanoserver|iis|aspnet|dotnet-framework|wcf|"
    r"windows|mssql-server-windows.*)(/|$|:))"
)
_WINDOWS_TAG: Final = re.compile(
    r"(^|[-_.])(nanoserver|windowsservercore|servercore|ltsc20\d\d|windows|win1809|20h2)([-_.]|$)",
    re.IGNORECASE,
)
_LINUX_TAG: Final = re.compile(
    r"(^|[-_.])(alpine|bookworm|bullseye|buster|trixie|jammy|focal|noble|bionic|ubuntu|debian|"
    r"slim|ubi[89]|linux|distroless|cbl-mariner|azurelinux)(\d|[-_.]|$)",
    re.IGNORECASE,
)
_LINUX_ONLY: Final = frozenset(
    [
        "alpine",
        "busybox",
        "centos",
        "debian",
        "elasticsearch",
        "fedora",
        "grafana/grafana",
        "haproxy",
        "httpd",
        "kibana",
        "mariadb",
        "memcached",
        "mysql",
        "nginx",
        "node",
        "php",
        "postgres",
        "rabbitmq",
        "redis",
        "rockylinux",
        "traefik",
        "ubuntu",
        "wordpress",
    ]
)
_TAG_BUILD: Final = re.compile(r"10\.0\.(\d{5})")
_WORD: Final = re.compile(r"[-_.]")


@dataclass(frozen=True, slots=True)
class Image:
    repository: str
    tag: str
    digest: str


@lru_cache(maxsize=8192)
def parse_image(name: str) -> Image:
    rest, _, digest = name.partition("@")
    last = rest.rpartition("/")[2]
    if ":" not in last:
        return Image(rest, "", digest)
    repository, _, tag = rest.rpartition(":")
    return Image(repository, tag, digest)


@lru_cache(maxsize=8192)
def os_of_image(name: str) -> str | None:
    """The system an image is surely made for; None where the name does not say."""
    image = parse_image(name)
    if _WINDOWS_REPOSITORY.match(image.repository) or _WINDOWS_TAG.search(image.tag):
        return "windows"
    if "e2e-test-images" in image.repository:
        return None  # upstream builds its test images for both systems, whatever the tag says
    short = image.repository.removeprefix("docker.io/").removeprefix("library/")
    if short in _LINUX_ONLY or _LINUX_TAG.search(image.tag):
        return "linux"
    return None


@lru_cache(maxsize=8192)
def build_of_image(name: str) -> int | None:
    """The Windows build a tag names, if the image is one of Windows."""
    image = parse_image(name)
    exact = _TAG_BUILD.search(image.tag)
    if exact:
        return int(exact[1])
    if os_of_image(name) != "windows":
        return None
    builds = builds_by_word()
    for word in _WORD.split(image.tag.lower()):
        # A bare year is as likely a release of the program inside.
        if word in builds and not re.fullmatch(r"20(16|19|22|25)|\d{5}", word):
            return builds[word]
    return None
