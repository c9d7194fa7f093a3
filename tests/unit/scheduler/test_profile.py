from pathlib import Path

import pytest

from winkube.base.types import JsonObject
from winkube.scheduler.profile import (
    Profile,
    SchedulerConfigError,
    default_profile,
    load_profiles,
    parse_profile,
    parse_profiles,
)


def weights(profile: Profile) -> dict[str, int]:
    return {plugin.name: weight for plugin, weight in profile.scorers}


def filters(profile: Profile) -> list[str]:
    return [plugin.name for plugin in profile.filters]


def profile(plugins: JsonObject) -> Profile:
    return parse_profile({"schedulerName": "x", "plugins": plugins})


def test_default_rules_and_weights_are_upstreams() -> None:
    found = default_profile()
    assert filters(found) == [
        "NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts",
        "NodeResourcesFit", "VolumeRestrictions", "VolumeBinding", "VolumeZone",
        "PodTopologySpread", "InterPodAffinity",
    ]  # fmt: skip
    assert weights(found) == {
        "TaintToleration": 3, "NodeAffinity": 2, "NodeResourcesFit": 1, "PodTopologySpread": 2,
        "InterPodAffinity": 2, "NodeResourcesBalancedAllocation": 1, "ImageLocality": 1,
        "ImageSystem": 10,
    }  # fmt: skip
    assert found.preempts


def test_rule_is_taken_out_of_one_point_or_of_all() -> None:
    off = {"disabled": [{"name": "NodeAffinity"}]}
    assert "NodeAffinity" not in weights(profile({"score": off}))
    assert "NodeAffinity" in filters(profile({"score": off}))
    everywhere = profile({"multiPoint": off})
    assert "NodeAffinity" not in weights(everywhere)
    assert "NodeAffinity" not in filters(everywhere)


def test_weight_is_set_for_one_point_or_for_all() -> None:
    heavy = {"enabled": [{"name": "NodeAffinity", "weight": 9}]}
    assert weights(profile({"multiPoint": heavy}))["NodeAffinity"] == 9
    found = profile({"score": heavy})
    assert weights(found)["NodeAffinity"] == 9
    # What a point lists itself comes first.
    assert next(iter(weights(found))) == "NodeAffinity"


def test_only_the_rules_named_are_left_when_all_are_taken_out() -> None:
    some = {"disabled": [{"name": "*"}], "enabled": [{"name": "NodePorts"}]}
    found = profile({"filter": some, "score": {"disabled": [{"name": "*"}]}})
    assert filters(found) == ["NodePorts"]
    assert weights(found) == {}


def test_preemption_can_be_turned_off() -> None:
    off = {"disabled": [{"name": "DefaultPreemption"}]}
    assert not profile({"postFilter": off}).preempts


@pytest.mark.parametrize(
    "document",
    [
        {"profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]},
        {"profiles": [{"schedulerName": "a"}, {}]},
        {"profiles": [{"plugins": {"filter": {"enabled": [{"name": "Nonsense"}]}}}]},
        {"profiles": [{"plugins": {"nowhere": {}}}]},
    ],
)
def test_nonsense_is_refused(document: JsonObject) -> None:
    with pytest.raises(SchedulerConfigError):
        parse_profiles(document)


def test_a_single_profile_needs_no_name_and_back_off_is_read() -> None:
    found = parse_profiles({"podInitialBackoffSeconds": 2, "podMaxBackoffSeconds": 60})
    assert list(found.by_name) == ["default-scheduler"]
    assert (found.initial_backoff, found.max_backoff) == (2.0, 60.0)


@pytest.mark.parametrize("text", ["{", "kind: Pod", "- a"])
def test_file_that_is_something_else_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(SchedulerConfigError):
        load_profiles(path)
