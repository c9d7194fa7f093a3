"""Which HNS version can do what (microsoft/hcsshim: hcnglobals.go, hcnsupport.go).

A feature is a list of version ranges; inside a range the minor number counts only where the major
equals the bound's major.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

Version = tuple[int, int]


class Feature(StrEnum):
    ACL_RULES = "AclRules"
    V2_API = "V2Api"
    REMOTE_SUBNET = "RemoteSubnet"
    HOST_ROUTE = "HostRoute"
    DSR = "DSR"
    SLASH_32 = "Slash32EndpointPrefixes"
    VXLAN_PORT = "VxlanPort"
    ACL_PROTOCOL_252 = "AclSupportForProtocol252"
    DUAL_STACK = "IPv6DualStack"
    RESERVED_ADDRESSES = "ReservedAddresses"
    SESSION_AFFINITY = "SessionAffinity"
    SET_POLICY = "SetPolicy"
    L4_PROXY = "L4Proxy"
    L4_WFP_PROXY = "L4WfpProxy"
    TIER_ACL = "TierAcl"
    NETWORK_ACL = "NetworkACL"
    NESTED_IP_SET = "NestedIpSet"
    DISABLE_HOST_PORT = "DisableHostPort"
    MODIFY_LOAD_BALANCER = "ModifyLoadbalancer"
    ACCELNET = "Accelnet"


@dataclass(frozen=True, slots=True)
class Range:
    first: Version
    last_major: int = 2**16

    def holds(self, version: Version) -> bool:
        major, minor = version
        if not self.first[0] <= major <= self.last_major:
            return False
        return major > self.first[0] or minor >= self.first[1]


FEATURES: Final[dict[Feature, tuple[Range, ...]]] = {
    Feature.ACL_RULES: (Range((7, 2)),),
    Feature.V2_API: (Range((9, 2)),),
    Feature.REMOTE_SUBNET: (Range((9, 2)),),
    Feature.HOST_ROUTE: (Range((9, 2)),),
    Feature.DSR: (Range((9, 3), 9), Range((10, 2))),
    Feature.SLASH_32: (Range((9, 3), 9), Range((10, 4))),
    Feature.VXLAN_PORT: (Range((10, 3)),),
    Feature.ACL_PROTOCOL_252: (Range((11, 0)),),
    # From 2004 on HNS refuses network and gateway addresses for endpoints.
    Feature.RESERVED_ADDRESSES: (Range((11, 0)),),
    Feature.DUAL_STACK: (Range((11, 10)),),
    Feature.SESSION_AFFINITY: (Range((12, 0)),),
    Feature.SET_POLICY: (Range((13, 0)),),
    Feature.L4_PROXY: (
        Range((9, 5), 9),
        Range((10, 5), 10),
        Range((11, 11), 11),
        Range((12, 1), 12),
        Range((13, 1)),
    ),
    Feature.L4_WFP_PROXY: (Range((13, 2)),),
    Feature.TIER_ACL: (Range((14, 0)),),
    Feature.NETWORK_ACL: (Range((15, 0)),),
    Feature.NESTED_IP_SET: (Range((15, 0)),),
    Feature.DISABLE_HOST_PORT: (Range((15, 1)),),
    Feature.MODIFY_LOAD_BALANCER: (Range((15, 4)),),
    Feature.ACCELNET: (Range((15, 4)),),
}
# The version of the document schema, by the HNS version that brought it.
_SCHEMAS: Final[tuple[tuple[Version, Version], ...]] = (
    ((15, 0), (2, 16)),
    ((13, 0), (2, 11)),
    ((11, 10), (2, 6)),
    ((9, 2), (2, 0)),
)


def supports(version: Version, feature: Feature) -> bool:
    return any(bound.holds(version) for bound in FEATURES[feature])


def schema_version(version: Version) -> Version:
    return next((schema for since, schema in _SCHEMAS if version >= since), (1, 0))
