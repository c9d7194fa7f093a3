"""The families of a service's addresses: what was meant, and what this cluster has.

A cluster has one family or both, the first being the usual one. What asks for another is refused,
except for services that have neither addresses nor endpoints of ours.
"""

from collections.abc import Sequence
from typing import Final

from winkube.api.errors import InvalidError
from winkube.api.validation.network.service_address import check_cluster_addresses, family_of
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_OTHER: Final = {"IPv4": "IPv6", "IPv6": "IPv4"}
_SINGLE: Final = "SingleStack"
_BOTH: Final = "must be 'RequireDualStack' or 'PreferDualStack' when multiple"


def normalise_addresses(spec: JsonObject, old: JsonObject | None) -> None:
    """The one address and the list of them are in step, for clients that know only the one."""
    first = spec.get("clusterIP") or ""
    if old is None:
        if first and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [first]
        return
    before = old.get("clusterIP") or ""
    if old.get("clusterIPs") and not spec.get("clusterIPs") and before == first:
        spec["clusterIPs"] = list(old["clusterIPs"])
    if before != first and spec.get("clusterIPs") == old.get("clusterIPs"):
        if before and not first:
            spec.pop("clusterIPs", None)
        elif first:
            spec["clusterIPs"] = [first]


def complete_families(
    name: str, spec: JsonObject, old: JsonObject | None, own: Sequence[str]
) -> None:
    """Fill in policy and families; InvalidError for what this cluster cannot do."""
    if spec.get("type") == "ExternalName" or _is_settled(spec, old):
        return
    bare = spec.get("clusterIP") == "None" and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        kept = (old or {}).get("ipFamilyPolicy")
        spec["ipFamilyPolicy"] = kept or ("RequireDualStack" if bare else _SINGLE)
    problems = Problems()
    check_cluster_addresses(spec, old or {}, problems)
    _raise(name, problems)
    if old is not None:
        _reduce(spec, old, problems)
    _check_policy(spec, problems)
    _infer(spec, own, problems)
    _raise(name, problems)
    if not bare:
        _check_configured(spec, own, problems)
        _raise(name, problems)
    families = spec.get("ipFamilies") or [own[0]]
    # Headless and without selector: somebody else makes its endpoints, of whatever family.
    both = bare or len(own) == 2
    if both and len(families) < 2 and spec["ipFamilyPolicy"] != _SINGLE:
        families = [*families, _OTHER[families[0]]]
    spec["ipFamilies"] = families


def _raise(name: str, problems: Problems) -> None:
    if problems:
        raise InvalidError.of("Service", name, problems.causes)


def _is_settled(spec: JsonObject, old: JsonObject | None) -> bool:
    """One that prefers two families and changes neither keeps what it has."""
    if old is None or old.get("type") != spec.get("type"):
        return False
    same = all(spec.get(field) == old.get(field) for field in ("clusterIPs", "ipFamilies"))
    policies = {spec.get("ipFamilyPolicy"), old.get("ipFamilyPolicy")}
    return same and policies == {"PreferDualStack"}


def _reduce(spec: JsonObject, old: JsonObject, problems: Problems) -> None:
    for field, word in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        now, was = spec.get(field) or [], old.get(field) or []
        if spec["ipFamilyPolicy"] == _SINGLE:
            if now == was and len(now) > 1:
                spec[field] = now[:1]
        elif now and len(now) < len(was):
            text = f"must be 'SingleStack' to release the secondary {word}"
            problems.invalid("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], text)


def _check_policy(spec: JsonObject, problems: Problems) -> None:
    if spec["ipFamilyPolicy"] != _SINGLE:
        return
    for field, words in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")):
        if len(spec.get(field) or ()) == 2:
            problems.invalid("spec.ipFamilyPolicy", _SINGLE, f"{_BOTH} {words} are specified")


def _infer(spec: JsonObject, own: Sequence[str], problems: Problems) -> None:
    families, every = list(spec.get("ipFamilies") or ()), spec.get("clusterIPs") or []
    for index, address in enumerate(every):
        if address == "None":
            break
        family = family_of(address)
        if index < len(families):
            continue
        if family not in own:
            text = f"{family} is not configured on this cluster"
            problems.invalid(f"spec.clusterIPs[{index}]", every, text)
        else:
            families.append(family)
    if families:
        spec["ipFamilies"] = families


def _check_configured(spec: JsonObject, own: Sequence[str], problems: Problems) -> None:
    if spec["ipFamilyPolicy"] == "RequireDualStack" and len(own) < 2:
        text = "this cluster is not configured for dual-stack services"
        problems.invalid("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], text)
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        if family not in own:
            here = f"spec.ipFamilies[{index}]"
            problems.invalid(here, family, "not configured on this cluster")
