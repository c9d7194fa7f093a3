import base64

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from winkube.api.certificate_request import is_kubelet_client, parse_request

USAGES = ["digital signature", "client auth"]


def _request(*names: str) -> str:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes")]
    parts += [x509.NameAttribute(NameOID.COMMON_NAME, name) for name in names]
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(parts))
    signed = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    return base64.b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()


def test_a_kubelet_has_one_name() -> None:
    assert is_kubelet_client(parse_request(_request("system:node:me")), USAGES)
    for other in ("system:node:victim", "kube-apiserver-kubelet-client"):
        request = parse_request(_request(other, "system:node:me"))
        assert request.common_name == "system:node:me"
        assert not is_kubelet_client(request, USAGES)
