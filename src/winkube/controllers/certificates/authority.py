"""Sign a request with the cluster's CA, as upstream's local signer does.

The certificate carries the request's subject and alternative names and the usages the API object
asks for; all other extensions of the request are dropped (pkg/controller/certificates/authority).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, ObjectIdentifier

from winkube.api.certificate_request import CertificateRequest
from winkube.base.errors import WinkubeError

_BACKDATE: Final = timedelta(minutes=5)
_SHORT: Final = timedelta(hours=8)
_LONGEST: Final = timedelta(days=365)
_SHORTEST: Final = timedelta(minutes=10)
_KEY_USAGES: Final[Mapping[str, str]] = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
_PURPOSES: Final[Mapping[str, ObjectIdentifier]] = {
    "any": ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,
    "server auth": ExtendedKeyUsageOID.SERVER_AUTH,
    "client auth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "code signing": ExtendedKeyUsageOID.CODE_SIGNING,
    "email protection": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "s/mime": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "ipsec end system": ObjectIdentifier("1.3.6.1.5.5.7.3.5"),
    "ipsec tunnel": ObjectIdentifier("1.3.6.1.5.5.7.3.6"),
    "ipsec user": ObjectIdentifier("1.3.6.1.5.5.7.3.7"),
    "timestamping": ExtendedKeyUsageOID.TIME_STAMPING,
    "ocsp signing": ExtendedKeyUsageOID.OCSP_SIGNING,
    "microsoft sgc": ObjectIdentifier("1.3.6.1.4.1.311.10.3.3"),
    "netscape sgc": ObjectIdentifier("2.16.840.1.113730.4.1"),
}

SigningKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


class SigningError(WinkubeError):
    pass


@dataclass(frozen=True, slots=True)
class SigningAuthority:
    certificate: x509.Certificate
    key: SigningKey

    @classmethod
    def load(cls, cert_file: Path, key_file: Path) -> "SigningAuthority":
        key = serialization.load_pem_private_key(key_file.read_bytes(), None)
        if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
            raise SigningError(f"{key_file}: neither an RSA nor an EC key")
        return cls(x509.load_pem_x509_certificate(cert_file.read_bytes()), key)

    def sign(
        self, request: CertificateRequest, usages: list[str], seconds: int | None, now: float
    ) -> bytes:
        """The certificate as PEM."""
        start = datetime.fromtimestamp(now, UTC)
        expires = self.certificate.not_valid_after_utc
        if start >= expires:
            raise SigningError(
                "refusing to sign a certificate that expired in the past: "
                f"NotAfter={expires:%Y-%m-%d %H:%M:%S +0000 UTC}"
            )
        life = _lifetime(seconds)
        end = start + (life if life < _SHORT else life - _BACKDATE)
        builder = (
            x509.CertificateBuilder()
            .subject_name(request.parsed.subject)
            .issuer_name(self.certificate.subject)
            .public_key(request.parsed.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(start - _BACKDATE)
            .not_valid_after(min(end, expires))
        )
        builder = _add_usages(builder, usages)
        builder = builder.add_extension(
            x509.BasicConstraints(ca=False, path_length=None), critical=True
        )
        builder = self._add_issuer(builder)
        names = request.alternative_names()
        if list(names):
            nameless = not list(request.parsed.subject)
            builder = builder.add_extension(names, critical=nameless)
        signed = builder.sign(self.key, hashes.SHA256())
        return signed.public_bytes(serialization.Encoding.PEM)

    def _add_issuer(self, builder: x509.CertificateBuilder) -> x509.CertificateBuilder:
        try:
            found = self.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
        except x509.ExtensionNotFound:
            return builder
        issuer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(found.value)
        return builder.add_extension(issuer, critical=False)


def _lifetime(seconds: int | None) -> timedelta:
    if seconds is None:
        return _LONGEST
    return max(_SHORTEST, min(timedelta(seconds=seconds), _LONGEST))


def _add_usages(builder: x509.CertificateBuilder, usages: list[str]) -> x509.CertificateBuilder:
    unknown = [usage for usage in usages if usage not in _KEY_USAGES and usage not in _PURPOSES]
    if unknown:
        shown = " ".join(f'"{usage}"' for usage in unknown)
        raise SigningError(f"unrecognized usage values: [{shown}]")
    wanted = {_KEY_USAGES[usage] for usage in usages if usage in _KEY_USAGES}
    if wanted:
        flags = {name: name in wanted for name in set(_KEY_USAGES.values())}
        if "key_agreement" not in wanted:
            # X.509 gives these two a meaning only together with key agreement.
            flags["encipher_only"] = flags["decipher_only"] = False
        make: Callable[..., x509.KeyUsage] = x509.KeyUsage
        builder = builder.add_extension(make(**flags), critical=True)
    order = list(dict.fromkeys(_PURPOSES.values()))
    purposes = {_PURPOSES[usage] for usage in usages if usage in _PURPOSES}
    if purposes:
        listed = x509.ExtendedKeyUsage(sorted(purposes, key=order.index))
        builder = builder.add_extension(listed, critical=False)
    return builder
