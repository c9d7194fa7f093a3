"""What ``winkube webhook`` does: read the settings, make certificates, serve until told to end."""

import asyncio
import os
import signal
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import uvloop
import yaml
from cryptography import x509

from winkube.base import log
from winkube.base.clock import SystemClock
from winkube.client.config import ACCOUNT_FOLDER, ClientConfig, in_cluster, load_kubeconfig
from winkube.client.rest import ApiClient
from winkube.cluster.pki import Authority, Identity, Pair
from winkube.rules.admission.cluster import Cluster, FixedWorld
from winkube.rules.target import parse_targets
from winkube.webhook.certificate import Certificate
from winkube.webhook.errors import SettingError
from winkube.webhook.manifests import ManifestConfig, Pem, documents
from winkube.webhook.server import WebhookConfig, WebhookServer
from winkube.webhook.world import WatchedWorld

_POLICIES: Final = ("Ignore", "Fail")
_RENEWED_BEFORE: Final = timedelta(days=30)
_NAME: Final = "winkube-webhook"


@dataclass(frozen=True, slots=True)
class Serving:
    listen: str
    cert: Path
    key: Path
    kubeconfig: Path | None = None
    context: str | None = None
    in_cluster: bool = False
    kubernetes: tuple[str, ...] = ()
    windows: tuple[str, ...] = ()
    linger: float = 0.0


@dataclass(frozen=True, slots=True)
class Manifests:
    image: str = ""
    url: str = ""
    namespace: str = _NAME
    failure_policy: str = "Ignore"
    timeout: int = 3
    replicas: int = 2
    certificates: Path | None = None
    match_conditions: bool = False


def serve(asked: Serving) -> None:
    log.configure()
    watched = asked.kubeconfig is not None or asked.in_cluster
    if watched and (asked.kubernetes or asked.windows):
        raise SettingError("the target is the cluster's: leave out --kubernetes and --windows")
    config = WebhookConfig(*_address(asked.listen), linger_seconds=asked.linger)
    certificate = Certificate(asked.cert, asked.key)
    if not watched:
        cluster = Cluster(parse_targets(asked.kubernetes, asked.windows), _USUAL_TAINTS)
        server = WebhookServer(config, certificate, FixedWorld(cluster, {}))
        uvloop.run(_until_told(server))
        return
    client = _client(asked)
    token = ACCOUNT_FOLDER / "token" if asked.in_cluster else None
    uvloop.run(_watching(config, certificate, client, token))


_USUAL_TAINTS: Final = (("os", "windows", "NoSchedule"),)


def _client(asked: Serving) -> ClientConfig:
    if asked.kubeconfig is not None:
        return load_kubeconfig(asked.kubeconfig, asked.context)
    return in_cluster(os.environ)


async def _watching(
    config: WebhookConfig, certificate: Certificate, client: ClientConfig, token: Path | None
) -> None:
    async with ApiClient(client) as api:
        world = WatchedWorld(api, token)
        await _until_told(WebhookServer(config, certificate, world, world))


async def _until_told(server: WebhookServer) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.stop.set)
    await server.run()


def _address(listen: str) -> tuple[str, int]:
    host, found, port = listen.rpartition(":")
    if not found or not port.isdecimal() or int(port) > 65535:
        raise SettingError(f"--listen {listen!r} is not of the form address:port")
    return host.strip("[]"), int(port)


class _Plain(yaml.SafeDumper):
    """What stands in two places is written out twice: people read it, and edit one of them."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def to_yaml(asked: Manifests) -> str:
    _check(asked)
    config = ManifestConfig(
        pem=_certificates(asked),
        url=asked.url,
        image=asked.image,
        namespace=asked.namespace,
        failure_policy=asked.failure_policy,
        timeout_seconds=asked.timeout,
        replicas=asked.replicas,
        asks_less=asked.match_conditions,
    )
    return yaml.dump_all(documents(config), Dumper=_Plain, sort_keys=False, explicit_start=True)


def _check(asked: Manifests) -> None:
    if bool(asked.url) == bool(asked.image):
        raise SettingError(
            "say --image (winkube in an image of yours, to run in the cluster) or --url (a server "
            "that you start yourself)"
        )
    if asked.url and (urlsplit(asked.url).scheme != "https" or not urlsplit(asked.url).hostname):
        raise SettingError(f"--url {asked.url!r} is not https://host:port")
    if asked.url and asked.certificates is None:
        raise SettingError(
            "--url needs --certificates: the folder where 'webhook serve' reads them"
        )
    if asked.failure_policy not in _POLICIES:
        raise SettingError(f"--failure-policy is one of {', '.join(_POLICIES)}")


def _certificates(asked: Manifests) -> Pem:
    if asked.certificates is not None:
        asked.certificates.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _ensure(asked.certificates, _names(asked))
    # Nobody needs the authority's key again: a new one is made with the next manifests.
    with tempfile.TemporaryDirectory() as folder:
        return _ensure(Path(folder), _names(asked))


def _names(asked: Manifests) -> tuple[str, ...]:
    if asked.url:
        return (str(urlsplit(asked.url).hostname),)
    service = f"{_NAME}.{asked.namespace}.svc"
    return service, f"{service}.cluster.local", f"{_NAME}.{asked.namespace}"


def _ensure(folder: Path, names: tuple[str, ...]) -> Pem:
    authority = Authority.ensure(folder, SystemClock())
    pair = Pair(folder / "tls.crt", folder / "tls.key")
    if pair.cert.exists() and not _is_good(pair.cert.read_bytes(), names):
        pair.cert.unlink()
    authority.ensure_pair(pair, Identity("tls", names[0], (), names))
    return Pem((folder / "ca.crt").read_bytes(), pair.cert.read_bytes(), pair.key.read_bytes())


def _is_good(pem: bytes, names: tuple[str, ...]) -> bool:
    """Whether a certificate of an earlier run is for these names, and lasts a while."""
    certificate = x509.load_pem_x509_certificate(pem)
    listed = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    known = {str(entry.value) for entry in listed}
    left = certificate.not_valid_after_utc - datetime.fromtimestamp(SystemClock().now(), UTC)
    return known == set(names) and left > _RENEWED_BEFORE
