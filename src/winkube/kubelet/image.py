"""Images: pull by policy, once per image at a time, with back-off and the words users know."""

import asyncio
import base64
import binascii
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final

import orjson

from winkube.base.clock import Clock
from winkube.base.types import JsonObject
from winkube.kubelet.errors import StartError
from winkube.kubelet.objects import decode_secret
from winkube.kubelet.pod.backoff import Backoffs, to_duration
from winkube.kubelet.pod.state import CriCaller
from winkube.wire import cri
from winkube.wire.cri_client import CriError

PULL_SECONDS: Final = 1800.0
# Made on this machine: no registry has them, so there is nothing newer to ask for.
BUILT_IN: Final = "winkube.local/"
DOCKER_HUB: Final = "index.docker.io"
# The grammar of image references (distribution/reference), without its length rules.
_COMPONENT: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST: Final = r"(?:\[[a-fA-F0-9:]+\]|[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?)(?::[0-9]+)?"
_REFERENCE: Final = re.compile(
    rf"(?:{_HOST}/)?{_COMPONENT}(?:/{_COMPONENT})*"
    r"(?::[\w][\w.-]{0,127})?(?:@[A-Za-z][\w.+-]*:[0-9a-fA-F]{32,})?"
)

# (event type, reason, message)
Say = Callable[[str, str, str], None]


@dataclass(frozen=True, slots=True)
class Credential:
    username: str = ""
    password: str = ""
    auth: str = ""

    def to_cri(self) -> Any:
        return cri.AuthConfig(username=self.username, password=self.password, auth=self.auth)


@dataclass(slots=True)
class ImagePuller:
    cri: CriCaller
    clock: Clock
    backoffs: Backoffs = field(default_factory=Backoffs)
    _failures: dict[str, tuple[float, str]] = field(default_factory=dict)
    _locks: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def ensure(
        self,
        container: JsonObject,
        sandbox: Any,
        credentials: Sequence[Credential],
        *,
        key: str,
        say: Say,
    ) -> Any:
        """The CRI Image to run; StartError with the waiting reason when there is none."""
        wanted = str(container.get("image") or "")
        if not _REFERENCE.fullmatch(wanted):
            message = (
                f'Failed to apply default image tag "{wanted}": couldn\'t parse image name '
                f'"{wanted}": invalid reference format'
            )
            say("Warning", "InspectFailed", message)
            raise StartError("InvalidImageName", message)
        name = with_tag(wanted)
        policy = container.get("imagePullPolicy") or default_policy(name)
        image = await self.find(name)
        if image is not None and (policy != "Always" or name.startswith(BUILT_IN)):
            text = f'Container image "{wanted}" already present on machine'
            say("Normal", "Pulled", text)
            return image
        if policy == "Never":
            text = f'Container image "{wanted}" is not present with pull policy of Never'
            say("Warning", "ErrImageNeverPull", text)
            raise StartError("ErrImageNeverPull", text)
        return await self._pull_or_wait(wanted, sandbox, credentials, key=key, say=say)

    async def find(self, name: str) -> Any:
        answer = await self.cri.call(
            "ImageStatus", cri.ImageStatusRequest(image=cri.ImageSpec(image=name))
        )
        return answer.image if answer.HasField("image") and answer.image.id else None

    async def _pull_or_wait(
        self,
        wanted: str,
        sandbox: Any,
        credentials: Sequence[Credential],
        *,
        key: str,
        say: Say,
    ) -> Any:
        name = with_tag(wanted)
        key = f"{key}/{name}"
        since, problem = self._failures.get(key, (0.0, ""))
        if self.backoffs.wait(key, since, self.clock.now()) > 0:
            say("Normal", "BackOff", f'Back-off pulling image "{wanted}"')
            delay = to_duration(self.backoffs.delay(key))
            raise StartError(
                "ImagePullBackOff", f'Back-off pulling image "{wanted}": ErrImagePull: {problem}'
                if problem else f"back-off {delay} pulling image",
            )  # fmt: skip
        say("Normal", "Pulling", f'Pulling image "{wanted}"')
        started = self.clock.monotonic()
        try:
            image = await self._pull(name, sandbox, credentials)
        except CriError as error:
            now = self.clock.now()
            self.backoffs.advance(key, now, now)
            self._failures[key] = (now, error.message)
            say("Warning", "Failed", f'Failed to pull image "{wanted}": {error}')
            raise StartError("ErrImagePull", str(error)) from error
        self._failures.pop(key, None)
        self.backoffs.forget(key)
        took = int((self.clock.monotonic() - started) * 1000)
        say(
            "Normal",
            "Pulled",
            f'Successfully pulled image "{wanted}" in {took}ms ({took}ms including waiting). '
            f"Image size: {image.size} bytes.",
        )
        return image

    def wait(self, key: str, name: str) -> float:
        """Seconds until this pull may be tried again."""
        key = f"{key}/{with_tag(name)}"
        since, _ = self._failures.get(key, (0.0, ""))
        return self.backoffs.wait(key, since, self.clock.now())

    def forget(self, key: str) -> None:
        """The pod is gone: so are its failures."""
        self.backoffs.forget(f"{key}/")
        for known in [known for known in self._failures if known.startswith(f"{key}/")]:
            del self._failures[known]

    async def _pull(self, name: str, sandbox: Any, credentials: Sequence[Credential]) -> Any:
        lock = self._locks.setdefault(name, asyncio.Lock())
        async with lock:
            problem: CriError | None = None
            for credential in credentials or (Credential(),):
                request = cri.PullImageRequest(
                    image=cri.ImageSpec(image=name),
                    auth=credential.to_cri(),
                    sandbox_config=sandbox,
                )
                try:
                    answer = await self.cri.call("PullImage", request, timeout=PULL_SECONDS)
                except CriError as error:
                    problem = error
                    continue
                image = await self.find(name) or await self.find(answer.image_ref)
                return image or cri.Image(id=answer.image_ref)
            assert problem is not None  # the loop ran at least once
            raise problem


def with_tag(image: str) -> str:
    """``:latest`` where neither tag nor digest is given."""
    if "@" in image or ":" in image.rpartition("/")[2]:
        return image
    return f"{image}:latest"


def default_policy(image: str) -> str:
    return "Always" if "@" not in image and image.endswith(":latest") else "IfNotPresent"


def registry_of(image: str) -> str:
    head, slash, _ = image.partition("/")
    if slash and ("." in head or ":" in head or head == "localhost"):
        return head
    return DOCKER_HUB


def find_credentials(secrets: Sequence[JsonObject], image: str) -> list[Credential]:
    """What imagePullSecrets say about this image's registry."""
    return [
        _credential(entry)
        for secret in secrets
        for registry, entry in _registries(secret).items()
        if _matches(registry, image)
    ]


def _registries(secret: JsonObject) -> dict[str, JsonObject]:
    try:
        data = decode_secret(secret)
        if ".dockerconfigjson" in data:
            found = orjson.loads(data[".dockerconfigjson"]).get("auths")
        elif ".dockercfg" in data:
            found = orjson.loads(data[".dockercfg"])
        else:
            found = {}
    except (orjson.JSONDecodeError, binascii.Error, AttributeError):
        # A broken secret is as good as none: the pull then says it is not authorised.
        return {}
    return found if isinstance(found, dict) else {}


def _matches(registry: str, image: str) -> bool:
    place = re.sub(r"^https?://", "", registry).rstrip("/")
    host, _, path = place.partition("/")
    if path in ("v1", "v2"):
        path = ""
    if host == "docker.io":
        host = DOCKER_HUB
    target = registry_of(image)
    rest = image if target == DOCKER_HUB else image.partition("/")[2]
    return _is_host(host, target) and (not path or rest.startswith(path))


def _is_host(pattern: str, host: str) -> bool:
    """Each part of a name may have wild cards, as ``*.azurecr.io``; a port may not."""
    (wanted, _, port), (name, _, own) = pattern.partition(":"), host.partition(":")
    parts, names = wanted.split("."), name.split(".")
    alike = (port, len(parts)) == (own, len(names)) and all(map(fnmatchcase, names, parts))
    return alike or pattern == host


def _credential(entry: JsonObject) -> Credential:
    username, password = str(entry.get("username") or ""), str(entry.get("password") or "")
    auth = str(entry.get("auth") or "")
    if auth and not username:
        try:
            username, _, password = base64.b64decode(auth).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            username = ""
    return Credential(username, password, "" if username else auth)
