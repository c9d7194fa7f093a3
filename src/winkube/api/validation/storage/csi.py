"""CSIDrivers and CSINodes (upstream: pkg/apis/storage/validation)."""

from typing import Any, Final

from winkube.api import names
from winkube.api.validation.common import check_given, check_immutable, check_nonnegative
from winkube.api.validation.problems import Problems
from winkube.api.validation.storage.volume_source import check_driver_name
from winkube.base.types import JsonObject

_MAX_NODE_ID: Final = 256
_GROUP_POLICIES: Final = ("File", "None", "ReadWriteOnceWithFSType")
_LIFECYCLES: Final = ("Persistent", "Ephemeral")
_SHORTEST_TOKEN: Final = 600
_LONGEST_TOKEN: Final = 2**32


def validate_driver(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    if spec.get("fsGroupPolicy") is not None:
        check_given(spec["fsGroupPolicy"], _GROUP_POLICIES, "spec.fsGroupPolicy", problems)
    _check_tokens(spec.get("tokenRequests") or (), problems)
    for mode in spec.get("volumeLifecycleModes") or ():
        check_given(mode, _LIFECYCLES, "spec.volumeLifecycleModes", problems)


def _check_tokens(requests: Any, problems: Problems) -> None:
    seen: set[str] = set()
    for index, request in enumerate(requests):
        path, audience = f"spec.tokenRequests[{index}]", request.get("audience") or ""
        if audience in seen:
            problems.duplicate(f"{path}.audience", audience)
            continue
        seen.add(audience)
        seconds, here = request.get("expirationSeconds"), f"{path}.expirationSeconds"
        if seconds is not None and seconds < _SHORTEST_TOKEN:
            problems.invalid(here, seconds, "may not specify a duration less than 10 minutes")
        if seconds is not None and seconds > _LONGEST_TOKEN:
            problems.invalid(here, seconds, "may not specify a duration larger than 2^32 seconds")


def validate_driver_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    # Upstream's path of the first has a name that no field has.
    for field, shown in (
        ("attachRequired", "attachedRequired"),
        ("volumeLifecycleModes", "volumeLifecycleModes"),
    ):
        after, before = ((obj.get("spec") or {}).get(field) for obj in (new, old))
        check_immutable(after, before, f"spec.{shown}", problems)


def validate_node(obj: JsonObject, problems: Problems) -> None:
    seen: set[str] = set()
    for index, driver in enumerate((obj.get("spec") or {}).get("drivers") or ()):
        path, name = f"spec.drivers[{index}]", driver.get("name") or ""
        check_driver_name(name, f"{path}.name", problems)
        _check_node_id(driver.get("nodeID") or "", f"{path}.nodeID", problems)
        count = (driver.get("allocatable") or {}).get("count")
        check_nonnegative(count, f"{path}.allocatable.count", problems)
        if name in seen:
            problems.duplicate(f"{path}.name", name)
        seen.add(name)
        _check_topology(driver.get("topologyKeys") or [], path, problems)


def _check_node_id(node: str, path: str, problems: Problems) -> None:
    if not node:
        problems.required(path)
    if len(node.encode()) > _MAX_NODE_ID:
        problems.invalid(path, node, f"must be {_MAX_NODE_ID} characters or less")


def _check_topology(keys: list[str], path: str, problems: Problems) -> None:
    for index, key in enumerate(keys):
        if not key:
            problems.required(path)
        if key in keys[:index]:
            problems.duplicate(path, key)
        problems.all_invalid(path, key, names.label_key_problems(key))


def validate_node_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    """A driver that is there stays as it is."""
    after, before = ((obj.get("spec") or {}).get("drivers") or () for obj in (new, old))
    for was in before:
        for now in after:
            if was.get("name") == now.get("name") and was != now:
                problems.invalid("spec.drivers", _internal(now), "field is immutable")


def _internal(driver: JsonObject) -> JsonObject:
    """As upstream's own type has the fields."""
    allocatable = driver.get("allocatable")
    return {
        "Name": driver.get("name") or "",
        "NodeID": driver.get("nodeID") or "",
        "TopologyKeys": driver.get("topologyKeys"),
        "Allocatable": None if allocatable is None else {"Count": allocatable.get("count")},
    }
