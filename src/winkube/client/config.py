"""How to reach an API server: address and credentials, from code or from a kubeconfig file.

Inline credentials of a kubeconfig stay in memory; they reach OpenSSL through an anonymous file.
"""

import base64
import binascii
import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from winkube.client.errors import KubeconfigError

# Where a pod finds who it is (k8s.io/client-go: rest.InClusterConfig).
ACCOUNT_FOLDER: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class ClientConfig:
    server: str
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    token: str | None = field(default=None, repr=False)
    user_agent: str = "winkube"
    ca_data: bytes | None = field(default=None, repr=False)
    cert_data: bytes | None = field(default=None, repr=False)
    key_data: bytes | None = field(default=None, repr=False)
    insecure: bool = False

    def ssl_context(self) -> ssl.SSLContext | None:
        """The TLS settings; None for a plain http server."""
        if not self.server.startswith("https:"):
            return None
        context = ssl.create_default_context(
            cafile=None if self.ca_file is None else str(self.ca_file),
            cadata=None if self.ca_data is None else self.ca_data.decode(),
        )
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        with (
            _as_file(self.cert_file, self.cert_data) as cert,
            _as_file(self.key_file, self.key_data) as key,
        ):
            if cert is not None:
                context.load_cert_chain(cert, key)
        return context


def load_kubeconfig(path: Path, context: str | None = None) -> ClientConfig:
    """The server and user of one context, by default the current one."""
    try:
        document = yaml.safe_load(path.read_bytes())
    except (OSError, yaml.YAMLError) as error:
        raise KubeconfigError(path, str(error)) from error
    if not isinstance(document, dict):
        raise KubeconfigError(path, "not a kubeconfig document")
    chosen = context or document.get("current-context") or ""
    link = _named(path, document, ("contexts", "context"), chosen)
    cluster = _named(path, document, ("clusters", "cluster"), link.get("cluster", ""))
    user = _named(path, document, ("users", "user"), link.get("user", ""))
    if not cluster.get("server"):
        raise KubeconfigError(path, f"cluster of context {chosen!r} has no server")
    return ClientConfig(
        server=str(cluster["server"]).rstrip("/"),
        ca_file=_file(path, cluster, "certificate-authority"),
        cert_file=_file(path, user, "client-certificate"),
        key_file=_file(path, user, "client-key"),
        token=user.get("token"),
        ca_data=_inline(path, cluster, "certificate-authority-data"),
        cert_data=_inline(path, user, "client-certificate-data"),
        key_data=_inline(path, user, "client-key-data"),
        insecure=bool(cluster.get("insecure-skip-tls-verify", False)),
    )


def in_cluster(environment: Mapping[str, str], folder: Path = ACCOUNT_FOLDER) -> ClientConfig:
    """As the service account of the pod that this process runs in."""
    host = environment.get("KUBERNETES_SERVICE_HOST", "")
    if not host or not (folder / "token").exists():
        raise KubeconfigError(folder, "this process runs in no pod with a service account")
    port = environment.get("KUBERNETES_SERVICE_PORT", "443")
    return ClientConfig(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        ca_file=folder / "ca.crt",
        token=(folder / "token").read_text().strip(),
    )


def _named(
    path: Path, document: Mapping[str, Any], keys: tuple[str, str], wanted: str
) -> Mapping[str, Any]:
    plural, singular = keys
    for entry in document.get(plural) or ():
        if entry.get("name") == wanted:
            found: Mapping[str, Any] = entry.get(singular) or {}
            return found
    raise KubeconfigError(path, f"no {singular} named {wanted!r}")


def _file(path: Path, entry: Mapping[str, Any], key: str) -> Path | None:
    # A relative path is relative to the kubeconfig it stands in (client-go: clientcmd loader).
    return path.parent / entry[key] if entry.get(key) and not entry.get(f"{key}-data") else None


def _inline(path: Path, entry: Mapping[str, Any], key: str) -> bytes | None:
    if not entry.get(key):
        return None
    try:
        return base64.b64decode(entry[key], validate=True)
    except (binascii.Error, TypeError) as error:
        raise KubeconfigError(path, f"{key} is not base64") from error


@contextmanager
def _as_file(path: Path | None, data: bytes | None) -> Iterator[str | None]:
    if data is None:
        yield None if path is None else str(path)
        return
    # load_cert_chain takes file names only; an anonymous file never reaches a disk.
    descriptor = os.memfd_create("credential", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(descriptor), "wb") as out:
            out.write(data)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
