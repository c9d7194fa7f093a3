"""What HNS answers when it refuses: one error class, the codes and the words of each.

WinkubeError
└── HnsError       code and sentence as Windows gives them
    └── HnsUnavailableError   the service does not answer (RPC_S_UNKNOWN_IF)

Clients match on these texts and hexadecimal codes (kube-proxy looks for ``0xb7`` and ``0x6b5``,
flannel for the "already attached" sentence), so both are part of the interface. Imported by the CNI
programs: standard library only. Codes: MicrosoftDocs HCNHResult.md, microsoft/hcsshim hcnerrors.go.
"""

from enum import IntEnum
from typing import Any, Final

from winkube.base.errors import WinkubeError


class Code(IntEnum):
    """HRESULT, or the bare Win32 number where Windows shows that."""

    NETWORK_NOT_FOUND = 0x803B0001
    ENDPOINT_NOT_FOUND = 0x803B0002
    SUBNET_NOT_FOUND = 0x803B0005
    ADAPTER_NOT_FOUND = 0x803B0006
    PORT_NOT_FOUND = 0x803B0007
    POLICY_NOT_FOUND = 0x803B0008
    INVALID_NETWORK = 0x803B000A
    INVALID_NETWORK_TYPE = 0x803B000B
    INVALID_ENDPOINT = 0x803B000C
    INVALID_POLICY = 0x803B000D
    INVALID_POLICY_TYPE = 0x803B000E
    INVALID_REMOTE_ENDPOINT_OPERATION = 0x803B000F
    NETWORK_ALREADY_EXISTS = 0x803B0010
    POLICY_ALREADY_EXISTS = 0x803B0012
    PORT_ALREADY_EXISTS = 0x803B0013
    ENDPOINT_ALREADY_ATTACHED = 0x803B0014
    REQUEST_UNSUPPORTED = 0x803B0015
    MAPPING_NOT_SUPPORTED = 0x803B0016
    DEGRADED_OPERATION = 0x803B0017
    GUID_CONVERSION = 0x803B0019
    INVALID_JSON = 0x803B001B
    INVALID_JSON_REFERENCE = 0x803B001C
    INVALID_IP = 0x803B001E
    SWITCH_EXTENSION_NOT_FOUND = 0x803B001F
    ENDPOINT_NAMESPACE_ALREADY_EXISTS = 0x803B002B
    ENTITY_HAS_REFERENCES = 0x803B002C
    INVALID_INTERNAL_PORT = 0x803B002D
    NAMESPACE_ATTACH_FAILED = 0x803B002E
    ADDR_INVALID_OR_RESERVED = 0x803B002F
    INVALID_PREFIX = 0x803B0030
    INVALID_SUBNET = 0x803B0032
    ENDPOINT_NOT_ATTACHED = 0x803B0034
    ENDPOINT_NOT_LOCAL = 0x803B0035
    COMPUTE_SYSTEM_DOES_NOT_EXIST = 0xC037010E
    NOT_IMPLEMENTED = 0x80004001
    ELEMENT_NOT_FOUND = 0x490
    ALREADY_EXISTS = 0xB7
    OBJECT_ALREADY_EXISTS = 0x1392
    UNKNOWN_INTERFACE = 0x6B5
    GENERAL_FAILURE = 0x1F


_TEXT: Final[dict[int, str]] = {
    Code.NETWORK_NOT_FOUND: "The network was not found.",
    Code.ENDPOINT_NOT_FOUND: "The endpoint was not found.",
    Code.SUBNET_NOT_FOUND: "The network does not have a subnet for this endpoint.",
    Code.ADAPTER_NOT_FOUND: "An adapter was not found.",
    Code.PORT_NOT_FOUND: "The switch-port was not found.",
    Code.POLICY_NOT_FOUND: "An expected policy was not found.",
    Code.INVALID_NETWORK: "The provided network configuration is invalid or missing parameters.",
    Code.INVALID_NETWORK_TYPE: "Invalid network type.",
    Code.INVALID_ENDPOINT: "The provided endpoint configuration is invalid or missing parameters.",
    Code.INVALID_POLICY: "The provided policy configuration is invalid or missing parameters.",
    Code.INVALID_POLICY_TYPE: "Invalid policy type.",
    Code.INVALID_REMOTE_ENDPOINT_OPERATION: (
        "This requested operation is invalid for a remote endpoint."
    ),
    Code.NETWORK_ALREADY_EXISTS: "A network with this name already exists.",
    Code.POLICY_ALREADY_EXISTS: "Policy information already exists on this object.",
    Code.PORT_ALREADY_EXISTS: "The specified port already exists.",
    Code.ENDPOINT_ALREADY_ATTACHED: "This endpoint is already attached to the switch.",
    Code.REQUEST_UNSUPPORTED: "The specified request is unsupported.",
    Code.MAPPING_NOT_SUPPORTED: "Port mapping is not supported on the given network.",
    Code.DEGRADED_OPERATION: "There was an operation attempted on a degraded object.",
    Code.GUID_CONVERSION: "Failed to interpret a parameter as a GUID.",
    Code.INVALID_JSON: "The JSON document is invalid.",
    Code.INVALID_JSON_REFERENCE: "The reference is invalid in the JSON document.",
    Code.INVALID_IP: "IP address is either invalid or not part of any configured subnet(s).",
    Code.SWITCH_EXTENSION_NOT_FOUND: (
        "The specified switch extension does not exist on this switch."
    ),
    Code.ENDPOINT_NAMESPACE_ALREADY_EXISTS: "The endpoint is already in the namespace.",
    Code.ENTITY_HAS_REFERENCES: (
        "The specified entity cannot be removed while it still has references."
    ),
    Code.INVALID_INTERNAL_PORT: "The internal port must exist and cannot be zero.",
    Code.NAMESPACE_ATTACH_FAILED: "The requested operation for attach namespace failed.",
    Code.ADDR_INVALID_OR_RESERVED: "An address provided is invalid or reserved.",
    Code.INVALID_PREFIX: "The prefix is invalid.",
    Code.INVALID_SUBNET: "The subnet is invalid.",
    Code.ENDPOINT_NOT_ATTACHED: "The endpoint is not attached.",
    Code.ENDPOINT_NOT_LOCAL: "The endpoint is not local.",
    Code.COMPUTE_SYSTEM_DOES_NOT_EXIST: "A compute system with this ID does not exist.",
    Code.NOT_IMPLEMENTED: "Not implemented",
    Code.ELEMENT_NOT_FOUND: "Element not found.",
    Code.ALREADY_EXISTS: "Cannot create a file when that file already exists.",
    Code.OBJECT_ALREADY_EXISTS: "The object already exists.",
    Code.UNKNOWN_INTERFACE: "The interface is unknown.",
    Code.GENERAL_FAILURE: "A device attached to the system is not functioning.",
}
_NOT_FOUND: Final = frozenset(
    {Code.NETWORK_NOT_FOUND, Code.ENDPOINT_NOT_FOUND, Code.ELEMENT_NOT_FOUND}
)
_WIN32: Final = 0x80070000


class HnsError(WinkubeError):
    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(message or _TEXT.get(code, f"HNS failed with code 0x{code:x}"))
        self.code = code

    @property
    def is_not_found(self) -> bool:
        return self.code in _NOT_FOUND


class HnsUnavailableError(HnsError):
    def __init__(self, socket: str, reason: str) -> None:
        text = _TEXT[Code.UNKNOWN_INTERFACE]
        super().__init__(
            Code.UNKNOWN_INTERFACE,
            f"hnsCall failed in Win32: {text} (0x6b5): no HNS service at {socket}: {reason}",
        )


def to_result(error: HnsError) -> dict[str, Any]:
    """The JSON Windows answers with; plain Win32 numbers travel as HRESULTs."""
    code = int(error.code)
    return {
        "Success": False,
        "Error": f"{error} ",  # the blank is Windows's own
        "ErrorCode": code | _WIN32 if code < 0x10000 else code,
    }


def parse_result(call: str, result: dict[str, Any], raw: str) -> HnsError:
    """Rebuild what a Windows client sees: call, sentence, code in hexadecimal, raw answer."""
    number = int(result.get("ErrorCode") or Code.GENERAL_FAILURE)
    code = number & 0xFFFF if number & 0xFFFF0000 == _WIN32 else number
    text = str(result.get("Error", "")).rstrip()
    return HnsError(code, f"{call} failed in Win32: {text} (0x{code:x}) {raw}")
