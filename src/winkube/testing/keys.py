"""The certificates of a test control plane: one throw-away authority in a folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from winkube.base.clock import SystemClock
from winkube.client.config import ClientConfig
from winkube.cluster.pki import Authority, Identity, Pair


@dataclass(frozen=True, slots=True)
class Keys:
    folder: Path

    def write(self) -> None:
        authority = Authority.ensure(self.folder, SystemClock())
        # The service's own address: upstream refuses to start on a certificate without names.
        names = ("127.0.0.1", "localhost", "10.96.0.1", "kubernetes.default.svc")
        authority.ensure_pair(self.server, Identity("server", "kube-apiserver", (), names))
        admin = Identity("admin", "kubernetes-admin", ("system:masters",))
        authority.ensure_pair(self.admin, admin)
        if not self.service_account.exists():
            key = rsa.generate_private_key(65537, 2048).private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            self.service_account.write_bytes(key)

    def issue(self, user: str, groups: tuple[str, ...] = ()) -> Pair:
        """A client certificate for ``user`` as a member of these groups, made on first use."""
        files = self._pair("-".join((user, *groups)).replace(":", "-"))
        authority = Authority.ensure(self.folder, SystemClock())
        authority.ensure_pair(files, Identity(files.cert.stem, user, groups))
        return files

    @property
    def ca(self) -> Path:
        return self.folder / "ca.crt"

    @property
    def ca_key(self) -> Path:
        return self.folder / "ca.key"

    @property
    def service_account(self) -> Path:
        return self.folder / "sa.key"

    @property
    def server(self) -> Pair:
        return self._pair("server")

    @property
    def admin(self) -> Pair:
        return self._pair("admin")

    def client(self, port: int, pair: Pair | None = None) -> ClientConfig:
        who = pair or self.admin
        return ClientConfig(f"https://127.0.0.1:{port}", self.ca, who.cert, who.key)

    def kubeconfig(self, port: int, pair: Pair | None = None) -> Path:
        who = pair or self.admin
        path = self.folder / f"{who.cert.stem}-{port}.kubeconfig"
        server = {"server": f"https://127.0.0.1:{port}", "certificate-authority": str(self.ca)}
        user = {"client-certificate": str(who.cert), "client-key": str(who.key)}
        document: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": server}],
            "users": [{"name": "test", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "current-context": "test",
        }
        path.write_text(yaml.safe_dump(document))
        return path

    def _pair(self, name: str) -> Pair:
        return Pair(self.folder / f"{name}.crt", self.folder / f"{name}.key")
