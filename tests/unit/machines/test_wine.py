from pathlib import Path

from winkube.machines.personality import find_personality
from winkube.machines.wine import registry
from winkube.machines.wine.apt import choose_mirror, parse_targets
from winkube.machines.wine.bootstrap import plan_command, step_of
from winkube.machines.wine.layer import plan_changes
from winkube.machines.wine.prefix import trim_services
from winkube.machines.wine.recipe import Recipe

CONTENT = """WINE REGISTRY Version 2
;; All keys relative to \\\\Machine

#arch=win64

[Software\\\\Wine] 1700000000
#time=1d
"Version"="win7"

[System\\\\ControlSet001\\\\Services\\\\NsiProxy] 1
"Start"=dword:00000002

[System\\\\ControlSet001\\\\Services\\\\PlugPlay] 1
"DisplayName"="Plug and Play"
"Start"=dword:00000002

[System\\\\ControlSet001\\\\Services\\\\PlugPlay\\\\Parameters] 1
"Start"=dword:00000002
"Blob"=hex(7):41,00,\\
  42,00
"""


def test_values_are_set_and_the_rest_stays() -> None:
    edited = registry.edit(CONTENT, {"software\\wine": {"Version": None, "New": registry.dword(7)}})
    assert registry.values_of(edited, "Software\\Wine", ["Version", "New"]) == {
        "New": "dword:00000007"
    }
    assert '"DisplayName"="Plug and Play"' in edited


def test_a_missing_key_is_added() -> None:
    edited = registry.edit(CONTENT, {"A\\B": {"x": registry.text('q"\\')}})
    assert registry.values_of(edited, "A\\B", ["x"]) == {"x": '"q\\"\\\\"'}


def test_a_value_over_several_lines_is_replaced_whole() -> None:
    key = "System\\ControlSet001\\Services\\PlugPlay\\Parameters"
    edited = registry.edit(CONTENT, {key: {"Blob": registry.text("x")}})
    assert registry.values_of(edited, key, ["Blob"]) == {"Blob": '"x"'}
    assert "42,00" not in edited


def test_services_wait_until_asked_for_except_those_kept() -> None:
    trimmed = trim_services(CONTENT, ("nsiproxy",))
    services = "System\\ControlSet001\\Services\\"
    start = {
        name: registry.values_of(trimmed, services + name, ["Start"])["Start"]
        for name in ("NsiProxy", "PlugPlay", "PlugPlay\\Parameters")
    }
    assert start == {
        "NsiProxy": "dword:00000002",
        "PlugPlay": "dword:00000003",
        "PlugPlay\\Parameters": "dword:00000002",
    }


def test_a_personality_is_registry_data() -> None:
    edited = registry.edit(CONTENT, plan_changes(find_personality("ltsc2019")))
    key = "Software\\Microsoft\\Windows NT\\CurrentVersion"
    values = registry.values_of(edited, key, ["CurrentBuildNumber", "ProductName"])
    assert values == {
        "CurrentBuildNumber": '"17763"',
        "ProductName": '"Windows Server 2019 Datacenter"',
    }


def test_no_container_starts_the_maker_of_menus() -> None:
    key = "Software\\Microsoft\\Windows\\CurrentVersion\\RunServices"
    content = registry.edit(CONTENT, {key: {"winemenubuilder": registry.text("winemenubuilder")}})
    edited = registry.edit(content, plan_changes(find_personality("ltsc2019")))
    assert registry.values_of(edited, key, ["winemenubuilder"]) == {}


def test_the_mirror_is_that_of_the_machines_own_release() -> None:
    text = "http://a/sec/|x-security|Debian\nhttp://a/debian/|x|Debian\nhttp://b/|y|Other\n"
    assert choose_mirror(parse_targets(text)) == "http://a/debian"


def test_another_distribution_leaves_the_mirror_to_mmdebstrap() -> None:
    assert choose_mirror(parse_targets("http://b/|noble|Ubuntu\n")) is None
    command = plan_command(Recipe(), Path("/t"), None)
    assert command[-2:] == ["trixie", "/t"]


def test_progress_follows_mmdebstraps_steps() -> None:
    assert step_of("I: downloading packages with apt...") == ("downloading packages", 0.08)
    assert step_of("W: something") is None


def test_another_recipe_is_another_base() -> None:
    assert Recipe().digest != Recipe(packages=("wine64",)).digest
