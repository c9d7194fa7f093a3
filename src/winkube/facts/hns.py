"""Which HNS version can do what (microsoft/hcsshim: hcnglobals.go, hcnsupport.go).

A feature is a list of version ranges; inside a range the minor number counts only where the major
equals the bound's major.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from winkube.facts.errors import DataError
from winkube.facts.table import load_table

HnsVersion = tuple[int, int]


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
    first: HnsVersion
    last_major: int = 2**16

    def holds(self, version: HnsVersion) -> bool:
        major, minor = version
        if not self.first[0] <= major <= self.last_major:
            return False
        return major > self.first[0] or minor >= self.first[1]


def parse_hns_version(text: str) -> HnsVersion:
    major, minor = text.split(".")
    return int(major), int(minor)


@cache
def features() -> dict[Feature, tuple[Range, ...]]:
    try:
        return {
            Feature(entry["feature"]): tuple(_parse_range(part) for part in entry["hns"].split(","))
            for entry in load_table("hns-features")["features"]
        }
    except (KeyError, TypeError, ValueError) as error:
        raise DataError("hns-features.yaml", "features", str(error)) from error


def supports(version: HnsVersion, feature: Feature) -> bool:
    return any(bound.holds(version) for bound in features()[feature])


@cache
def schema_version(version: HnsVersion) -> HnsVersion:
    """The version of the document schema that an HNS speaks."""
    try:
        schemas = [
            (parse_hns_version(entry["hns"]), parse_hns_version(entry["schema"]))
            for entry in load_table("hns-features")["schemas"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise DataError("hns-features.yaml", "schemas", str(error)) from error
    return max((schema for since, schema in schemas if version >= since), default=(1, 0))


def _parse_range(text: str) -> Range:
    """Read "9.3-9" (9.3 and later of 9) or "10.2" (from there on)."""
    first, _, last = text.strip().partition("-")
    return Range(parse_hns_version(first), int(last)) if last else Range(parse_hns_version(first))
