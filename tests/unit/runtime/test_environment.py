from winkube.runtime.environment import merge_env, windows_environment


def test_names_ignore_case_the_last_value_wins_and_the_first_spelling_stays() -> None:
    assert merge_env({"Path": "a", "X": "1"}, {"PATH": "b"}) == {"Path": "b", "X": "1"}


def test_paths_are_those_of_the_account() -> None:
    env = windows_environment("ContainerUser")
    assert env["USERNAME"] == "ContainerUser"
    assert env["TEMP"] == "C:\\Users\\ContainerUser\\AppData\\Local\\Temp"
    assert env["Path"].startswith("C:\\Windows\\system32;C:\\Windows;")
