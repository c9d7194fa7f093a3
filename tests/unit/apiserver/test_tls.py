import base64
import ssl

import pytest

from winkube.apiserver.tls import read_bundle


@pytest.mark.parametrize("given", ["é", "hello", "\0"], ids=["letters", "text", "nul"])
def test_a_bundle_without_certificates_is_not_the_machines_own(given: str) -> None:
    text = read_bundle(base64.b64encode(given.encode()).decode())
    with pytest.raises(ssl.SSLError):
        ssl.create_default_context(cadata=text)


def test_a_bundle_that_is_no_base64_is_not_the_machines_own() -> None:
    with pytest.raises(ssl.SSLError):
        ssl.create_default_context(cadata=read_bundle("abc"))
