"""Which names are accounts of a Windows container."""

import pytest

from winkube.runtime.account import find_account


@pytest.mark.parametrize(
    ("name", "account"),
    [
        ("ContainerUser", "ContainerUser"),
        ("CONTAINERADMINISTRATOR", "ContainerAdministrator"),
        ("User Manager\\ContainerUser", "ContainerUser"),
        ("FooLish", None),
        ("", None),
    ],
)
def test_names_are_told_apart_as_windows_does(name: str, account: str | None) -> None:
    assert find_account(name) == account
