from typing import Any

import pytest

from winkube.api.volumes import (
    find_match,
    in_topology,
    is_for,
    meant_for,
    mismatch,
    offers,
    reaches,
)
from winkube.base.types import JsonObject


def claim(size: str = "5Gi", **spec: Any) -> JsonObject:
    body = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    metadata = {"name": "c", "namespace": "default", "uid": "c1"}
    return {"metadata": metadata, "spec": {**body, **spec}}


def volume(name: str, size: str = "10Gi", **spec: Any) -> JsonObject:
    labels = spec.pop("labels", {})
    phase = spec.pop("phase", "Available")
    body = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {**body, **spec},
        "status": {"phase": phase},
    }


def chosen(wanted: JsonObject, *volumes: JsonObject, **options: Any) -> str | None:
    found = find_match(wanted, volumes, **options)
    return None if found is None else found["metadata"]["name"]


def test_smallest_volume_that_fits_is_taken() -> None:
    volumes = (volume("big", "50Gi"), volume("fit", "6Gi"), volume("small", "1Gi"))
    assert chosen(claim(), *volumes) == "fit"
    assert chosen(claim("100Gi"), *volumes) is None


def test_volume_that_can_do_less_is_taken_before_one_that_can_do_more() -> None:
    able = volume("able", "5Gi", accessModes=["ReadWriteOnce", "ReadWriteMany"])
    assert chosen(claim(), able, volume("plain", "9Gi")) == "plain"
    assert chosen(claim(accessModes=["ReadWriteMany"]), able, volume("plain")) == "able"


@pytest.mark.parametrize(
    "unfit",
    [
        volume("v", storageClassName="other"),
        volume("v", volumeMode="Block"),
        volume("v", accessModes=["ReadOnlyMany"]),
        volume("v", phase="Released"),
        volume("v", claimRef={"namespace": "default", "name": "other"}),
    ],
    ids=["class", "mode", "access", "phase", "taken"],
)
def test_volume_that_does_not_fit_is_not_taken(unfit: JsonObject) -> None:
    assert chosen(claim(), unfit) is None


def test_selector_chooses_by_labels() -> None:
    wanted = claim(selector={"matchLabels": {"tier": "fast"}})
    fast = volume("fast", labels={"tier": "fast"})
    assert chosen(wanted, volume("slow"), fast) == "fast"


def test_volume_made_for_the_claim_comes_first_even_when_binding_is_delayed() -> None:
    meant = volume("meant", "50Gi", claimRef={"namespace": "default", "name": "c"})
    assert is_for(meant, claim())
    assert chosen(claim(), volume("fit", "5Gi"), meant) == "meant"
    assert chosen(claim(), meant, delayed=True) == "meant"
    assert chosen(claim(), volume("fit"), delayed=True) is None


def affinity(host: str) -> JsonObject:
    term = {"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}}


def test_node_sees_only_volumes_it_reaches() -> None:
    near, far = (volume(name, nodeAffinity=affinity(name)) for name in ("near", "far"))
    place = ("n", {"kubernetes.io/hostname": "near"})
    assert chosen(claim(), far, near, node=place, delayed=True) == "near"
    assert chosen(claim(), far, near, node=place, excluded={"near"}) is None
    assert reaches(volume("v"), *place)


def test_class_may_be_limited_to_a_topology() -> None:
    term = {"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}
    limited = {"allowedTopologies": [term]}
    assert in_topology(limited, {"zone": "a"})
    assert not in_topology(limited, {"zone": "b"})
    assert in_topology({}, {})


@pytest.mark.parametrize(
    ("named", "why"),
    [
        (volume("v", "1Gi"), "requested PV is too small"),
        (volume("v", storageClassName="x"), "storageClassName does not match"),
        (volume("v", volumeMode="Block"), "incompatible volumeMode"),
        (volume("v", accessModes=["ReadOnlyMany"]), "incompatible accessMode"),
        (volume("v"), ""),
    ],
)
def test_mismatch_with_a_named_volume_is_said(named: JsonObject, why: str) -> None:
    assert mismatch(named, claim()) == why


def test_taken_volume_is_offered_to_nobody() -> None:
    assert offers(volume("v", storageClassName="x")) == ("x",)
    assert offers(volume("v", phase="Bound")) == ()
    assert meant_for(volume("v", claimRef={"namespace": "a", "name": "b"})) == ("a/b",)
    assert meant_for(volume("v")) == ()
