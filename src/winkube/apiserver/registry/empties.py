"""Lists and maps that were given empty, in what is said about an object that is refused."""

from collections.abc import Callable

from winkube.api.errors import ApiError, Cause
from winkube.api.roundtrip import Emptied, as_given


def with_empties(
    causes: list[Cause], emptied: list[Emptied], validate: Callable[[], list[Cause]]
) -> list[Cause]:
    """The same problems, shown as upstream does, which knows empty from missing until it stores.

    Objects are judged without them, so that only what is refused anyway is looked at twice.
    """
    if not emptied:
        return causes
    try:
        with as_given(emptied, shown=True):
            shown = validate()
    except ApiError:
        return causes  # nobody reads what is not refused as it was
    return shown if _places(shown) == _places(causes) else causes


def _places(causes: list[Cause]) -> list[tuple[str, str]]:
    return [(cause.reason, cause.field) for cause in causes]
