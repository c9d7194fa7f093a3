import pytest

from winkube.api.errors import BadRequestError
from winkube.apiserver.protobuf.decode import decode_protobuf


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(number: int, data: bytes | str) -> bytes:
    raw = data.encode() if isinstance(data, str) else data
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def number(tag: int, value: int) -> bytes:
    return varint(tag << 3) + varint(value & (1 << 64) - 1)


def envelope(version: str, kind: str, body: bytes) -> bytes:
    return b"k8s\x00" + field(1, field(1, version) + field(2, kind)) + field(2, body)


def test_config_map_with_its_maps() -> None:
    metadata = field(1, "c") + field(3, "ns") + field(8, b"")
    body = field(1, metadata) + field(2, field(1, "k") + field(2, "v"))
    body += field(3, field(1, "bin") + field(2, b"\x00\x01"))
    assert decode_protobuf(envelope("v1", "ConfigMap", body)) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "ns"},
        "data": {"k": "v"},
        "binaryData": {"bin": "AAE="},
    }


def test_an_aggregated_server_is_registered() -> None:
    service = field(1, "ns") + field(2, "api") + number(3, 443)
    spec = field(1, service) + field(2, "g.example") + field(5, b"ca") + number(7, 2000)
    body = field(1, field(1, "v1.g.example")) + field(2, spec)
    assert decode_protobuf(envelope("apiregistration.k8s.io/v1", "APIService", body)) == {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1.g.example"},
        "spec": {
            "service": {"namespace": "ns", "name": "api", "port": 443},
            "group": "g.example",
            "caBundle": "Y2E=",
            "groupPriorityMinimum": 2000,
        },
    }


def test_pointer_keeps_its_zero_and_plain_field_does_not() -> None:
    spec = number(1, 0) + number(5, 0)  # replicas is a pointer, minReadySeconds is not
    decoded = decode_protobuf(envelope("apps/v1", "Deployment", field(2, spec)))
    assert decoded["spec"] == {"replicas": 0}


def test_inline_messages_and_special_types() -> None:
    probe_action = field(2, field(2, number(1, 0) + number(2, 8080)))  # httpGet.port
    probe = field(1, probe_action) + number(2, 3)
    limits = field(1, field(1, "cpu") + field(2, field(1, "500m")))
    container = field(1, "c") + field(8, limits) + field(10, probe)
    spec = field(2, container) + number(4, -1)
    decoded = decode_protobuf(envelope("v1", "Pod", field(2, spec)))
    assert decoded["spec"] == {
        "containers": [
            {
                "name": "c",
                "resources": {"limits": {"cpu": "500m"}},
                "livenessProbe": {"httpGet": {"port": 8080}, "initialDelaySeconds": 3},
            }
        ],
        "terminationGracePeriodSeconds": -1,
    }


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"k8s\x00\xff",
        b"k8s\x00" + field(1, field(1, "v1") + field(2, "Nothing")),
        envelope("v1", "Pod", b"\x0a\xff"),
        envelope("v1", "Pod", number(2, 1)),
        envelope("v1", "Pod", field(2, b"\x0b")),
    ],
)
def test_damaged_body_is_a_bad_request(data: bytes) -> None:
    with pytest.raises(BadRequestError):
        decode_protobuf(data)


def test_times_of_long_ago_have_years_of_four_digits() -> None:
    second = number(1, -62135596798)
    spec = field(3, second) + field(4, second)
    lease = decode_protobuf(envelope("coordination.k8s.io/v1", "Lease", field(2, spec)))
    assert lease["spec"] == {
        "acquireTime": "0001-01-01T00:00:02.000000Z",
        "renewTime": "0001-01-01T00:00:02.000000Z",
    }
