"""TLS contexts: ours toward clients (certificates optional), kubelets, and others."""

import base64
import binascii
import ssl
from typing import Final

from winkube.apiserver.config import ApiServerConfig

_NO_CERTIFICATE: Final = "no certificate"


def server_context(config: ApiServerConfig) -> ssl.SSLContext:
    """A client may present a certificate; if it does, our CA must have signed it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(config.cert_file, config.key_file)
    context.load_verify_locations(config.client_ca_file)
    context.verify_mode = ssl.CERT_OPTIONAL
    # Upgraded connections (exec, port-forward) and watches need HTTP/1.1, which is all we speak.
    context.set_alpn_protocols(["http/1.1"])
    # Nobody resumes sessions here, and making tickets doubles the cost of a handshake.
    context.num_tickets = 0
    return context


def kubelet_context(config: ApiServerConfig) -> ssl.SSLContext:
    """Kubelets are reached by address; their certificates name it."""
    context = ssl.create_default_context(cafile=str(config.kubelet_ca))
    context.load_cert_chain(config.kubelet_client_cert, config.kubelet_client_key)
    return context


def trusting_context() -> ssl.SSLContext:
    """For servers whose certificate nobody looks at.

    Not the default one: it would read the machine's authorities to ask none of them.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def read_bundle(bundle: str) -> str:
    """The certificates of a ``caBundle``; names in any letters may stand between them.

    Never empty for one that is given: nothing would mean the machine's own authorities.
    """
    try:
        text = base64.b64decode(bundle).decode("ascii", "ignore")
    except binascii.Error:
        text = ""
    return text or _NO_CERTIFICATE
