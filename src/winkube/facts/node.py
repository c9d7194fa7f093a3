"""What the programs of a Windows node do, by the version of Kubernetes."""

from enum import StrEnum
from functools import cache

from winkube.facts.errors import DataError
from winkube.facts.table import load_table
from winkube.facts.version import parse_range, parse_version


class NodeFeature(StrEnum):
    # The kubelet refuses pods with resources of their own.
    POD_RESOURCES_REFUSED = "PodLevelResourcesRefused"
    # kube-proxy keeps to local backends where internalTrafficPolicy says so.
    INTERNAL_TRAFFIC_POLICY = "InternalTrafficPolicy"
    # The kubelet wants to give a token to runAsUser, and fails.
    TOKEN_OWNER_FAULT = "TokenOwnerFault"


@cache
def node_does(kubernetes: str, feature: NodeFeature) -> bool:
    """Whether programs of this version ("v1.34.0") do it."""
    for entry in load_table("node-features"):
        if entry["feature"] == feature:
            return parse_version(kubernetes) in parse_range(entry["kubernetes"])
    raise DataError("node-features.yaml", feature, "no line for it")
