from typing import TYPE_CHECKING, Any, cast

import pytest

from winkube.api.errors import UnauthorizedError
from winkube.apiserver.auth.authn import Authenticator, user_of_subject
from winkube.apiserver.auth.user import ANONYMOUS
from winkube.testing.fake_clock import FakeClock

if TYPE_CHECKING:
    from aiohttp import web

    from winkube.apiserver.auth.token import TokenAuthority


class Connection:
    """A request's own transport and TLS connection."""

    def __init__(self, name: str, ends: str) -> None:
        self.headers: dict[str, str] = {}
        self.transport = self
        self._certificate = {"subject": ((("commonName", name),),), "notAfter": ends}
        self._encoded = name.encode()

    def get_extra_info(self, _name: str) -> "Connection":
        return self

    def getpeercert(self, *, binary_form: bool = False) -> Any:
        if not self._encoded:
            return None
        return self._encoded if binary_form else self._certificate


def test_each_connection_has_its_own_user_until_its_certificate_ends() -> None:
    clock = FakeClock(0.0)
    authenticator = Authenticator(cast("TokenAuthority", None), clock)

    def name(connection: Connection) -> str:
        return authenticator.authenticate(cast("web.BaseRequest", connection)).name

    short = Connection("eve", "Jan  1 00:10:00 1970 GMT")
    long = Connection("bob", "Jan  1 02:00:00 1970 GMT")
    assert [name(each) for each in (short, long, short, long)] == ["eve", "bob", "eve", "bob"]
    clock.advance(1800)
    with pytest.raises(UnauthorizedError):
        name(short)
    assert name(long) == "bob"
    assert name(Connection("", "Jan  1 02:00:00 1970 GMT")) == ANONYMOUS.name


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("system:kube-controller-manager", "system:node:me"), "system:node:me"),
        (("root", ""), None),
        ((), None),
    ],
)
def test_of_several_names_the_last_counts(names: tuple[str, ...], expected: str | None) -> None:
    subject = tuple((("commonName", name),) for name in names)
    user = user_of_subject(((("organizationName", "system:nodes"),), *subject))
    assert (user and user.name) == expected
