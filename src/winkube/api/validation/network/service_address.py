"""Cluster addresses of a service, their families, and how both may change."""

from typing import Any, Final

from winkube.api.addresses import parse_address, regular
from winkube.api.validation.common import check_ip
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

FAMILIES: Final = ("IPv4", "IPv6")
_POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")
_ONCE: Final = "may not change once set"


def is_headless(spec: JsonObject) -> bool:
    return (spec.get("clusterIPs") or []) == ["None"]


def family_of(address: str) -> str:
    found = regular(address)
    return "IPv4" if found is None else found[0]


def check_cluster_addresses(spec: JsonObject, old: JsonObject, problems: Problems) -> None:
    if spec.get("type") == "ExternalName":
        return
    every = spec.get("clusterIPs") or []
    _check_pair(spec.get("clusterIP") or "", every, problems)
    _check_families(spec, problems)
    if not _check_each(every, old.get("clusterIPs") or (), problems):
        return
    path = "spec.clusterIPs"
    families = {family_of(address) for address in every}
    if len(every) > 1 and (len(families) < 2 or len(every) > 2):
        problems.invalid(path, every, "may specify no more than one IP for each IP family")
    if is_headless(spec):
        return
    for index, (address, family) in enumerate(
        zip(every, spec.get("ipFamilies") or (), strict=False)
    ):
        if family in FAMILIES and family != family_of(address):
            text = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            problems.invalid(f"{path}[{index}]", address, text)


def _check_pair(first: str, every: list[str], problems: Problems) -> None:
    path = "spec.clusterIPs"
    if first and not every:
        problems.required(path)
    elif first and every[0] != first:
        problems.invalid(path, every, "first value must match `clusterIP`")
    elif every and not first:
        problems.invalid(path, every, "must be empty when `clusterIP` is not specified")


def _check_families(spec: JsonObject, problems: Problems) -> None:
    families = spec.get("ipFamilies") or ()
    for index, family in enumerate(families):
        here = f"spec.ipFamilies[{index}]"
        if family not in FAMILIES:
            problems.unsupported(here, family, FAMILIES)
        if family in families[:index]:
            problems.duplicate(here, family)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _POLICIES:
        problems.unsupported("spec.ipFamilyPolicy", policy, _POLICIES)


def _check_each(every: list[str], known: Any, problems: Problems) -> bool:
    """Whether all are addresses, so that more can be said of them."""
    path, valid = "spec.clusterIPs", True
    for index, address in enumerate(every):
        if index == 0 and address == "None":
            if len(every) > 1:
                valid = False
                problems.invalid(path, every, "'None' must be the first and only value")
            continue
        if address not in known and parse_address(address) is None:
            valid = False
            check_ip(address, f"{path}[{index}]", problems)
    if len(every) > 2:
        problems.invalid(path, every, "may only hold up to 2 values")
    return valid


def check_address_change(spec: JsonObject, old: JsonObject, problems: Problems) -> None:
    """The first address stays; a second may come and go."""
    if "ExternalName" in (spec.get("type"), old.get("type")):
        return
    if is_headless(spec) and is_headless(old):
        return
    now, was, path = spec.get("clusterIPs") or [], old.get("clusterIPs") or [], "spec.clusterIPs"
    if len(now) == len(was):
        for index, address in enumerate(was):
            if now[index] != address:
                problems.invalid(f"{path}[{index}]", now, _ONCE)
        return
    if len(was) > len(now) and not now:
        shown = spec.get("clusterIPs")
        problems.invalid(f"{path}[0]", shown, "primary clusterIP can not be unset")
    if was and now and now[0] != was[0]:
        problems.invalid(f"{path}[0]", now, _ONCE)
    if len(was) > len(now) == 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        text = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        problems.invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), text)


def check_family_change(spec: JsonObject, old: JsonObject, problems: Problems) -> None:
    if "ExternalName" in (spec.get("type"), old.get("type")):
        return
    if is_headless(spec) or is_headless(old):
        return
    now, was, path = spec.get("ipFamilies") or [], old.get("ipFamilies") or [], "spec.ipFamilies[0]"
    if len(now) == len(was):
        for index, family in enumerate(was):
            if now[index] != family:
                problems.invalid(path, now, _ONCE)
        return
    if len(was) > len(now) and not spec.get("clusterIPs"):
        problems.invalid(path, spec.get("ipFamilies"), "primary ipFamily can not be unset")
    if was and now and now[0] != was[0]:
        problems.invalid(path, spec.get("clusterIPs"), _ONCE)
    if len(was) > len(now) == 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        text = "must be set to 'SingleStack' when releasing the secondary ipFamily"
        problems.invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), text)
