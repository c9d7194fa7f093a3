"""The accounts of a Windows container; any other name is found out when a program starts."""

from typing import Final

from winkube.machines.wine.recipe import USERS

WRONG_NAME: Final = "The user name or password is incorrect."  # Windows' words


def find_account(name: str) -> str | None:
    """The account a name means; a computer's or domain's name may stand before it."""
    plain = name.rpartition("\\")[2].lower()
    return next((user for user in USERS if user.lower() == plain), None)
