"""What a CertificateSigningRequest asks for, and whether one of Kubernetes' own signers signs it.

Rules of the signers: k8s.io/kubernetes pkg/apis/certificates/helpers.go.
"""

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.x509.oid import NameOID

from winkube.base.errors import WinkubeError
from winkube.base.types import JsonObject

GROUP: Final = "certificates.k8s.io"
CLIENT_SIGNER: Final = "kubernetes.io/kube-apiserver-client"
KUBELET_CLIENT_SIGNER: Final = "kubernetes.io/kube-apiserver-client-kubelet"
KUBELET_SERVING_SIGNER: Final = "kubernetes.io/kubelet-serving"
LEGACY_SIGNER: Final = "kubernetes.io/legacy-unknown"
APPROVED: Final = "Approved"
DENIED: Final = "Denied"
FAILED: Final = "Failed"

_PEM: Final = b"-----BEGIN CERTIFICATE REQUEST-----"
_NODES: Final = ["system:nodes"]
_NODE_PREFIX: Final = "system:node:"


class RequestError(WinkubeError):
    """The bytes are no certificate request."""


class RefusedError(WinkubeError):
    """The signer the request names does not sign such a request."""


@dataclass(frozen=True, slots=True)
class CertificateRequest:
    parsed: x509.CertificateSigningRequest

    def subject(self, oid: x509.ObjectIdentifier) -> list[str]:
        return [str(part.value) for part in self.parsed.subject.get_attributes_for_oid(oid)]

    @property
    def common_name(self) -> str:
        # As Go reads a subject: the last one wins.
        return (self.subject(NameOID.COMMON_NAME) or [""])[-1]

    @property
    def organizations(self) -> list[str]:
        return self.subject(NameOID.ORGANIZATION_NAME)

    def alternative_names(self) -> x509.SubjectAlternativeName:
        try:
            found = self.parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        except x509.ExtensionNotFound:
            return x509.SubjectAlternativeName([])
        except (ValueError, x509.DuplicateExtension) as error:
            raise RequestError(str(error)) from error
        return found.value

    def names(self, kind: type[x509.GeneralName]) -> list[x509.GeneralName]:
        return [name for name in self.alternative_names() if isinstance(name, kind)]


def parse_request(text: str) -> CertificateRequest:
    """From ``spec.request``: base64 of PEM."""
    try:
        pem = base64.b64decode(text or "", validate=True)
    except binascii.Error as error:
        raise RequestError(str(error)) from error
    start = pem.find(_PEM)
    if start < 0 or b"-----BEGIN " in pem[:start]:
        raise RequestError("PEM block type must be CERTIFICATE REQUEST")
    try:
        request = CertificateRequest(x509.load_pem_x509_csr(pem[start:]))
        request.alternative_names()
    except ValueError as error:
        raise RequestError(str(error)) from error
    return request


def check_signature(request: CertificateRequest) -> None:
    try:
        valid = request.parsed.is_signature_valid
    except (InvalidSignature, UnsupportedAlgorithm, ValueError) as error:
        raise RequestError(str(error)) from error
    if not valid:
        raise RequestError("x509: signature verification failed")


def _check_usages(usages: set[str], purpose: str) -> None:
    least = {"digital signature", purpose}
    if usages not in (least, least | {"key encipherment"}):
        raise RefusedError(f"usages did not match [{' '.join(sorted(least | _ENCIPHER))}]")


_ENCIPHER: Final = {"key encipherment"}


def _check_node(request: CertificateRequest) -> None:
    if request.organizations != _NODES:
        raise RefusedError("subject organization is not system:nodes")


def _check_node_name(request: CertificateRequest) -> None:
    if not request.common_name.startswith(_NODE_PREFIX):
        raise RefusedError("subject common name does not begin with system:node:")
    if len(request.subject(NameOID.COMMON_NAME)) > 1:
        # Who reads the certificate may take another of them than we do.
        raise RefusedError("subject has more than one common name")


def _forbid_names(
    request: CertificateRequest, kinds: Iterable[tuple[type[x509.GeneralName], str]]
) -> None:
    for kind, word in kinds:
        if request.names(kind):
            raise RefusedError(f"{word} subjectAltNames are not allowed")


def _check_kubelet_serving(request: CertificateRequest, usages: list[str]) -> None:
    _check_node(request)
    if not request.names(x509.DNSName) and not request.names(x509.IPAddress):
        raise RefusedError("DNS or IP subjectAltName is required")
    kinds = ((x509.RFC822Name, "Email"), (x509.UniformResourceIdentifier, "URI"))
    _forbid_names(request, kinds)
    _check_usages(set(usages), "server auth")
    _check_node_name(request)


def _check_kubelet_client(request: CertificateRequest, usages: list[str]) -> None:
    _check_node(request)
    _forbid_names(
        request,
        (
            (x509.DNSName, "DNS"),
            (x509.RFC822Name, "Email"),
            (x509.IPAddress, "IP"),
            (x509.UniformResourceIdentifier, "URI"),
        ),
    )
    _check_node_name(request)
    _check_usages(set(usages), "client auth")


def _check_client(request: CertificateRequest, usages: list[str]) -> None:
    for usage in usages:
        if usage not in ("digital signature", "key encipherment", "client auth"):
            raise RefusedError(f"invalid usage for client certificate: {usage}")
    if "client auth" not in usages:
        raise RefusedError("missing required usage for client certificate: client auth")


def _check_nothing(request: CertificateRequest, usages: list[str]) -> None:
    """The signer of long ago signs all that is approved."""


SIGNERS: Final[Mapping[str, Callable[[CertificateRequest, list[str]], None]]] = {
    CLIENT_SIGNER: _check_client,
    KUBELET_CLIENT_SIGNER: _check_kubelet_client,
    KUBELET_SERVING_SIGNER: _check_kubelet_serving,
    LEGACY_SIGNER: _check_nothing,
}


def is_kubelet_client(request: CertificateRequest, usages: list[str]) -> bool:
    try:
        _check_kubelet_client(request, usages)
    except RefusedError:
        return False
    return True


def has_condition(obj: JsonObject, type_: str) -> bool:
    """Approved, Denied and Failed can only be True: being there is enough."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(condition.get("type") == type_ for condition in conditions)
