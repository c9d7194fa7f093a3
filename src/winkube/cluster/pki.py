"""The cluster's certificates: one CA, one certificate per identity, all keys 0600.

Identities are the ones upstream's authorisers know (CN is the user, O the groups).
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from winkube.base.clock import Clock
from winkube.cluster.simulation import SIMULATED, SIMULATED_USER
from winkube.cluster.state import ClusterState, write_private

_LIFE: Final = timedelta(days=365)
_CA_LIFE: Final = timedelta(days=3650)
_SKEW: Final = timedelta(minutes=5)  # machines whose clocks differ a little still agree

Key = ec.EllipticCurvePrivateKey


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key on disk."""

    cert: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Identity:
    file: str
    common_name: str
    groups: tuple[str, ...] = ()
    server_names: tuple[str, ...] = ()


def pair(state: ClusterState, file: str) -> Pair:
    return Pair(state.paths.pki / f"{file}.crt", state.paths.pki / f"{file}.key")


def ca_file(state: ClusterState) -> Path:
    return state.paths.pki / "ca.crt"


def front_proxy_ca_file(state: ClusterState) -> Path:
    """Signs the one certificate whose holder is believed when it says who asks."""
    return state.paths.pki / "front-proxy-ca.crt"


def service_account_key(state: ClusterState) -> Path:
    return state.paths.pki / "sa.key"


def encryption_key(state: ClusterState) -> Path:
    return state.paths.pki / "encryption.key"


def plan_identities(state: ClusterState) -> list[Identity]:
    domain = "cluster.local"
    service = state.spec.service_ip(1)
    api_names = (
        "localhost",
        "127.0.0.1",
        state.control_plane_ip,
        str(service),
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        f"kubernetes.default.svc.{domain}",
    )
    metrics_names = (
        state.control_plane_ip,
        "metrics-server.kube-system",
        "metrics-server.kube-system.svc",
        f"metrics-server.kube-system.svc.{domain}",
    )
    identities = [
        Identity("apiserver", "kube-apiserver", server_names=api_names),
        # Kubelets know it by name. To the API server it is nobody: a node that gave the API
        # server's address as its own would otherwise turn our requests into an administrator's.
        Identity("apiserver-kubelet-client", "kube-apiserver-kubelet-client"),
        Identity("admin", "kubernetes-admin", ("system:masters",)),
        Identity("controller-manager", "system:kube-controller-manager"),
        Identity("scheduler", "system:kube-scheduler"),
        Identity("proxy", "system:kube-proxy"),
        Identity("dns", "system:dns"),
        Identity("metrics-server", "system:metrics-server", server_names=metrics_names),
    ]
    if state.simulation.count:
        identities.append(Identity(SIMULATED, SIMULATED_USER))
    for node in state.spec.nodes:
        names = (node.name, *state.node_ips(node.name))
        user = f"system:node:{node.name}"
        identities.append(Identity(f"kubelet-{node.name}", user, ("system:nodes",), names))
    return identities


def ensure_pki(state: ClusterState, clock: Clock, random_bytes: bytes) -> None:
    """Make what is missing; what exists stays, so that a second ``up`` keeps every kubeconfig."""
    authority = Authority.ensure(state.paths.pki, clock)
    for identity in plan_identities(state):
        authority.ensure_pair(pair(state, identity.file), identity)
    front = Authority.ensure(state.paths.pki, clock, "front-proxy-ca")
    front.ensure_pair(
        pair(state, "front-proxy-client"), Identity("front-proxy-client", "front-proxy-client")
    )
    if not service_account_key(state).exists():
        signing = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        write_private(service_account_key(state), _key_pem(signing))
    if not encryption_key(state).exists():
        write_private(encryption_key(state), random_bytes)


@dataclass(frozen=True, slots=True)
class Authority:
    certificate: x509.Certificate
    key: Key
    clock: Clock

    @classmethod
    def ensure(cls, folder: Path, clock: Clock, stem: str = "ca") -> "Authority":
        cert_file, key_file = folder / f"{stem}.crt", folder / f"{stem}.key"
        if cert_file.exists() and key_file.exists():
            loaded = serialization.load_pem_private_key(key_file.read_bytes(), None)
            assert isinstance(loaded, ec.EllipticCurvePrivateKey)
            return cls(x509.load_pem_x509_certificate(cert_file.read_bytes()), loaded, clock)
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"winkube-{stem}")])
        builder = _builder(name, name, key, clock, _CA_LIFE)
        builder = builder.add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
        certificate = builder.sign(key, hashes.SHA256())
        write_private(key_file, _key_pem(key))
        write_private(cert_file, _cert_pem(certificate))
        return cls(certificate, key, clock)

    def ensure_pair(self, files: Pair, identity: Identity) -> None:
        if files.cert.exists() and files.key.exists():
            return
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in identity.groups]
        names.append(x509.NameAttribute(NameOID.COMMON_NAME, identity.common_name))
        builder = _builder(x509.Name(names), self.certificate.subject, key, self.clock, _LIFE)
        builder = builder.add_extension(
            x509.BasicConstraints(ca=False, path_length=None), critical=True
        )
        builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
        purposes = [ExtendedKeyUsageOID.CLIENT_AUTH]
        if identity.server_names:
            purposes.append(ExtendedKeyUsageOID.SERVER_AUTH)
            builder = builder.add_extension(
                _alternative_names(identity.server_names), critical=False
            )
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()),
            critical=False,
        )
        write_private(files.key, _key_pem(key))
        write_private(files.cert, _cert_pem(builder.sign(self.key, hashes.SHA256())))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: Key, clock: Clock, life: timedelta
) -> x509.CertificateBuilder:
    now = datetime.fromtimestamp(clock.now(), UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=not signs_certificates,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative_names(names: Sequence[str]) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName([_general_name(name) for name in names])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _key_pem(key: Key | rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _cert_pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
