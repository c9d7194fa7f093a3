import json

import pytest

from winkube.hns.errors import Code, HnsError, parse_result, to_result


@pytest.mark.parametrize(
    ("code", "number"),
    [
        (Code.NETWORK_NOT_FOUND, 2151350273),
        (Code.PORT_NOT_FOUND, 2151350279),
        (Code.PORT_ALREADY_EXISTS, 2151350291),
        (Code.INVALID_IP, 2151350302),
        (Code.ADDR_INVALID_OR_RESERVED, 2151350319),
        (Code.OBJECT_ALREADY_EXISTS, 2147947410),
    ],
)
def test_codes_travel_as_windows_numbers(code: Code, number: int) -> None:
    assert to_result(HnsError(code))["ErrorCode"] == number


def test_a_client_sees_what_windows_clients_see() -> None:
    result = to_result(HnsError(Code.ADDR_INVALID_OR_RESERVED))
    error = parse_result("hcnCreateEndpoint", result, json.dumps(result, separators=(",", ":")))
    assert str(error) == (
        "hcnCreateEndpoint failed in Win32: An address provided is invalid or reserved. "
        '(0x803b002f) {"Success":false,"Error":"An address provided is invalid or reserved. ",'
        '"ErrorCode":2151350319}'
    )


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        (Code.ALREADY_EXISTS, "0xb7"),
        (Code.ELEMENT_NOT_FOUND, "0x490"),
        (Code.OBJECT_ALREADY_EXISTS, "0x1392"),
    ],
)
def test_win32_numbers_are_shown_short(code: Code, shown: str) -> None:
    error = parse_result("hcnCreateLoadBalancer", to_result(HnsError(code)), "")
    assert error.code == code
    assert f"({shown})" in str(error)


def test_every_code_has_words() -> None:
    assert all(" " in str(HnsError(code)) for code in Code)
