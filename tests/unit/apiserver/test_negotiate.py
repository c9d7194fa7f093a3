import pytest

from winkube.api.errors import NotAcceptableError
from winkube.apiserver.call import wants_gzip
from winkube.apiserver.negotiate import PLAIN, Output, negotiate

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", PLAIN),
        ("*/*", PLAIN),
        (f"{TABLE},application/json", Output(shape="Table")),
        ("application/vnd.kubernetes.protobuf,application/json", PLAIN),
        ("application/json;q=0.5,application/yaml", Output("application/yaml")),
        ("application/json;as=Unknown;g=meta.k8s.io;v=v1,application/json", PLAIN),
    ],
)
def test_first_form_we_can_serve_wins(accept: str, expected: Output) -> None:
    assert negotiate(accept) == expected


@pytest.mark.parametrize("accept", ["text/html", "application/vnd.kubernetes.protobuf"])
def test_what_we_cannot_serve_is_refused(accept: str) -> None:
    with pytest.raises(NotAcceptableError):
        negotiate(accept)


def test_compression_is_for_peers_elsewhere() -> None:
    assert wants_gzip("gzip, deflate", "172.30.0.11")
    assert not wants_gzip("gzip", "127.0.0.1")
    assert not wants_gzip("identity", "172.30.0.11")


def test_what_has_no_columns_is_no_table() -> None:
    assert negotiate(f"{TABLE},application/json", tables=False) == PLAIN
    with pytest.raises(NotAcceptableError, match="only the following media types are accepted"):
        negotiate(TABLE, tables=False)
