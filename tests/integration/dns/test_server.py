"""The DNS server on loopback sockets, asked by dnslib's client."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from dnslib import QTYPE, RR, A, DNSRecord

from winkube.base.types import JsonObject
from winkube.client.resource import ENDPOINTSLICES, NAMESPACES, SERVICES
from winkube.dns.config import DnsConfig
from winkube.dns.server import DnsServer
from winkube.testing.fake_api import FakeApi


def service(key: str, **spec: object) -> JsonObject:
    namespace, name = key.split("/")
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"type": "ClusterIP", "ports": [], **spec},
    }


def slice_of(key: str, addresses: list[str], *, port: int = 80, hostname: str = "") -> JsonObject:
    namespace, name = key.split("/")
    extra = {"hostname": hostname} if hostname else {}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "namespace": namespace,
            "name": f"{name}-{hostname or 'abcde'}",
            "labels": {"kubernetes.io/service-name": name},
        },
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": port, "protocol": "TCP"}],
        "endpoints": [
            {"addresses": [ip], "conditions": {"ready": True}, **extra} for ip in addresses
        ],
    }


def seeded() -> FakeApi:
    api = FakeApi()
    api.seed(NAMESPACES, {"metadata": {"name": "default"}})
    http = [{"name": "http", "port": 80, "protocol": "TCP"}]
    api.seed(SERVICES, service("default/iis", clusterIP="10.96.0.7", ports=http))
    api.seed(SERVICES, service("default/web", clusterIP="None", ports=http))
    api.seed(ENDPOINTSLICES, slice_of("default/web", ["10.244.1.2", "10.244.1.3"], port=8080))
    api.seed(ENDPOINTSLICES, slice_of("default/web", ["10.244.2.9"], port=8080, hostname="web-0"))
    api.seed(
        SERVICES,
        service("default/alias", type="ExternalName", externalName="iis.default.svc.cluster.local"),
    )
    api.seed(SERVICES, service("default/out", type="ExternalName", externalName="www.example.com"))
    return api


@asynccontextmanager
async def running(api: FakeApi, upstreams: tuple[str, ...] = ()) -> AsyncIterator[tuple[str, int]]:
    config = DnsConfig((("127.0.0.1", 0),), upstreams=upstreams, service_ip="10.96.0.10")
    server = DnsServer(api, config)
    task: asyncio.Task[None]
    async with asyncio.TaskGroup() as group:
        task = group.create_task(server.run())
        async with asyncio.timeout(5):
            await server.ready.wait()
        try:
            yield server.bound[0]
        finally:
            task.cancel()


async def ask(at: tuple[str, int], name: str, type_: str = "A", *, tcp: bool = False) -> DNSRecord:
    query = DNSRecord.question(name, type_)
    raw = await asyncio.to_thread(query.send, at[0], at[1], tcp=tcp, timeout=3)
    return DNSRecord.parse(raw)


def texts(answer: DNSRecord) -> list[str]:
    return sorted(str(record.rdata) for record in answer.rr)


@pytest.mark.parametrize(
    ("name", "type_", "expected"),
    [
        ("iis.default.svc.cluster.local", "A", ["10.96.0.7"]),
        ("IIS.Default.svc.cluster.local", "A", ["10.96.0.7"]),
        ("web.default.svc.cluster.local", "A", ["10.244.1.2", "10.244.1.3", "10.244.2.9"]),
        ("web-0.web.default.svc.cluster.local", "A", ["10.244.2.9"]),
        ("10-244-1-2.web.default.svc.cluster.local", "A", ["10.244.1.2"]),
        ("10-1-2-3.default.pod.cluster.local", "A", ["10.1.2.3"]),
        ("ns.dns.cluster.local", "A", ["10.96.0.10"]),
        ("7.0.96.10.in-addr.arpa", "PTR", ["iis.default.svc.cluster.local."]),
        ("9.2.244.10.in-addr.arpa", "PTR", ["web-0.web.default.svc.cluster.local."]),
        ("dns-version.cluster.local", "TXT", ['"1.1.0"']),
        (
            "_http._tcp.iis.default.svc.cluster.local",
            "SRV",
            ["0 100 80 iis.default.svc.cluster.local."],
        ),
        (
            "alias.default.svc.cluster.local",
            "A",
            ["10.96.0.7", "iis.default.svc.cluster.local."],
        ),
        ("out.default.svc.cluster.local", "A", ["www.example.com."]),
    ],
)
@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
async def test_names_of_the_cluster_are_answered(
    name: str, type_: str, expected: list[str], tcp: bool
) -> None:
    async with running(seeded()) as at:
        answer = await ask(at, name, type_, tcp=tcp)
    assert answer.header.rcode == 0
    assert answer.header.aa == 1
    assert texts(answer) == expected


def of_two_families() -> FakeApi:
    api = FakeApi()
    api.seed(NAMESPACES, {"metadata": {"name": "default"}})
    http = [{"name": "http", "port": 80, "protocol": "TCP"}]
    both = ["10.96.0.7", "fd00:10:96::7"]
    api.seed(SERVICES, service("default/iis", clusterIP=both[0], clusterIPs=both, ports=http))
    api.seed(SERVICES, service("default/web", clusterIP="None", clusterIPs=["None"], ports=http))
    api.seed(ENDPOINTSLICES, slice_of("default/web", ["10.244.1.2"]))
    six = slice_of("default/web", ["fd00:10:244:1::2"], hostname="six")
    del six["endpoints"][0]["hostname"]
    api.seed(ENDPOINTSLICES, {**six, "addressType": "IPv6"})
    return api


@pytest.mark.parametrize(
    ("name", "type_", "expected"),
    [
        ("iis.default.svc.cluster.local", "A", ["10.96.0.7"]),
        ("iis.default.svc.cluster.local", "AAAA", ["fd00:10:96::7"]),
        ("iis.default.svc.cluster.local", "ANY", ["10.96.0.7", "fd00:10:96::7"]),
        ("web.default.svc.cluster.local", "A", ["10.244.1.2"]),
        ("web.default.svc.cluster.local", "AAAA", ["fd00:10:244:1::2"]),
        ("fd00-10-244-1--2.web.default.svc.cluster.local", "AAAA", ["fd00:10:244:1::2"]),
        ("fd00-10-244-1--2.default.pod.cluster.local", "AAAA", ["fd00:10:244:1::2"]),
        ("fd00-10-244-1--2.default.pod.cluster.local", "A", []),
        (
            f"7.{'0.' * 19}6.9.0.0.0.1.0.0.0.0.d.f.ip6.arpa",
            "PTR",
            ["iis.default.svc.cluster.local."],
        ),
    ],
)
async def test_names_of_two_families_have_addresses_of_both(
    name: str, type_: str, expected: list[str]
) -> None:
    async with running(of_two_families()) as at:
        answer = await ask(at, name, type_)
    assert answer.header.rcode == 0
    assert texts(answer) == expected


async def test_srv_of_a_headless_service_names_each_endpoint_with_its_address() -> None:
    async with running(seeded()) as at:
        answer = await ask(at, "_http._tcp.web.default.svc.cluster.local", "SRV")
    assert texts(answer) == [
        "0 100 8080 10-244-1-2.web.default.svc.cluster.local.",
        "0 100 8080 10-244-1-3.web.default.svc.cluster.local.",
        "0 100 8080 web-0.web.default.svc.cluster.local.",
    ]
    assert sorted(str(record.rdata) for record in answer.ar) == [
        "10.244.1.2",
        "10.244.1.3",
        "10.244.2.9",
    ]


@pytest.mark.parametrize(
    ("name", "type_", "rcode"),
    [
        ("absent.default.svc.cluster.local", "A", 3),
        ("x.cluster.local", "A", 3),
        ("10-1-2-3.nowhere.pod.cluster.local", "A", 3),
        ("a.iis.default.svc.cluster.local", "A", 3),
        ("iis.default.svc.cluster.local", "AAAA", 0),
        ("default.svc.cluster.local", "A", 0),
        ("cluster.local", "A", 0),
    ],
)
async def test_absence_comes_with_the_zone_s_soa(name: str, type_: str, rcode: int) -> None:
    async with running(seeded()) as at:
        answer = await ask(at, name, type_)
    assert (answer.header.rcode, answer.rr) == (rcode, [])
    assert [QTYPE[record.rtype] for record in answer.auth] == ["SOA"]


@pytest.mark.parametrize(
    ("name", "rcode"), [("www.example.com", 2), ("iis", 3), ("printer.local", 3)]
)
async def test_other_names_fail_fast_without_upstreams(name: str, rcode: int) -> None:
    async with running(seeded()) as at:
        answer = await ask(at, name)
    assert answer.header.rcode == rcode
    assert answer.header.aa == 0


async def test_an_answer_follows_the_objects_it_was_made_of() -> None:
    api = seeded()
    async with running(api) as at:
        assert texts(await ask(at, "web.default.svc.cluster.local"))[0] == "10.244.1.2"
        assert (await ask(at, "new.default.svc.cluster.local")).header.rcode == 3
        await api.delete(ENDPOINTSLICES, "web-abcde", namespace="default")
        await api.create(SERVICES, service("default/new", clusterIP="10.96.0.8"))
        await asyncio.sleep(0.05)
        assert texts(await ask(at, "web.default.svc.cluster.local")) == ["10.244.2.9"]
        assert texts(await ask(at, "new.default.svc.cluster.local")) == ["10.96.0.8"]


async def test_records_of_one_name_take_turns_at_being_first() -> None:
    async with running(seeded()) as at:
        answers = [await ask(at, "web.default.svc.cluster.local") for _ in range(3)]
    assert {str(answer.rr[0].rdata) for answer in answers} == {
        "10.244.1.2",
        "10.244.1.3",
        "10.244.2.9",
    }


async def test_an_answer_too_large_for_udp_is_truncated_and_whole_over_tcp() -> None:
    api = seeded()
    ips = [f"10.244.7.{n}" for n in range(1, 101)]
    api.seed(SERVICES, service("default/big", clusterIP="None"))
    api.seed(ENDPOINTSLICES, slice_of("default/big", ips))
    async with running(api) as at:
        short = await ask(at, "big.default.svc.cluster.local")
        whole = await ask(at, "big.default.svc.cluster.local", tcp=True)
    assert (short.header.tc, short.rr) == (1, [])
    assert (whole.header.tc, len(whole.rr)) == (0, 100)


@pytest.mark.parametrize(
    ("name", "type_", "most"),
    [
        ("huge.default.svc.cluster.local", "A", 4000),
        ("_http._tcp.huge.default.svc.cluster.local", "SRV", 500),
    ],
)
async def test_more_than_any_message_holds_is_answered_in_part(
    name: str, type_: str, most: int
) -> None:
    api = seeded()
    ips = [f"10.244.{n // 250}.{n % 250}" for n in range(5000)]
    ports = [{"name": "http", "port": 80, "protocol": "TCP"}]
    api.seed(SERVICES, service("default/huge", clusterIP="None", ports=ports))
    api.seed(ENDPOINTSLICES, slice_of("default/huge", ips))
    async with running(api) as at:
        answer = await ask(at, name, type_, tcp=True)
        # Nobody who asks ends the server.
        assert (await ask(at, "iis.default.svc.cluster.local", tcp=True)).rr
    assert (answer.header.tc, len(answer.rr)) == (0, most)


async def test_an_alias_that_is_no_name_ends_nothing() -> None:
    api = seeded()
    odd = service("default/odd", type="ExternalName", externalName=f"{'a' * 64}.example.com")
    api.seed(SERVICES, odd)
    async with running(api, ("127.0.0.1:1",)) as at:
        answer = await ask(at, "odd.default.svc.cluster.local", tcp=True)
        assert (answer.header.rcode, answer.rr) == (0, [])
        assert (await ask(at, "iis.default.svc.cluster.local", tcp=True)).rr


class Upstream(asyncio.DatagramProtocol):
    """A server that knows one name."""

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self.transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        query = DNSRecord.parse(data)
        answer = query.reply()
        if str(query.q.qname) == "www.example.com.":
            answer.add_answer(RR("www.example.com", QTYPE.A, rdata=A("192.0.2.1"), ttl=60))
        else:
            answer.header.rcode = 3
        self.transport.sendto(answer.pack(), addr)


@asynccontextmanager
async def upstream() -> AsyncIterator[str]:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(Upstream, local_addr=("127.0.0.1", 0))
    try:
        yield "127.0.0.1:{}".format(transport.get_extra_info("sockname")[1])
    finally:
        transport.close()


async def test_other_names_and_aliases_out_of_the_zone_are_asked_upstream() -> None:
    async with upstream() as server, running(seeded(), (server,)) as at:
        direct = await ask(at, "www.example.com")
        alias = await ask(at, "out.default.svc.cluster.local")
        absent = await ask(at, "nothing.example.com")
    assert texts(direct) == ["192.0.2.1"]
    assert [str(record.rdata) for record in alias.rr] == ["www.example.com.", "192.0.2.1"]
    assert absent.header.rcode == 3


async def test_a_silent_upstream_is_skipped() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        mute = f"127.0.0.1:{silent.getsockname()[1]}"
        async with upstream() as server, running(seeded(), (mute, server)) as at:
            answer = await ask(at, "www.example.com")
    assert texts(answer) == ["192.0.2.1"]


HOSTILE = {
    "empty": b"",
    "short": b"\x00" * 11,
    "answer": DNSRecord.question("x.").reply().pack(),
    "no question": b"\x00\x01" + b"\x00" * 10,
    "many questions": b"\x00\x01\x00\x00\xff\xff" + b"\x00" * 6,
    "pointer loop": b"\x00\x01\x00\x00\x00\x01" + b"\x00" * 6 + b"\xc0\x0c\x00\x01\x00\x01",
    "unfinished name": b"\x00\x01\x00\x00\x00\x01" + b"\x00" * 6 + b"\x3fabc",
    "endless name": b"\x00\x01\x00\x00\x00\x01" + b"\x00" * 6 + b"\x01a" * 400,
    "status": b"\x00\x01\x10\x00\x00\x01" + b"\x00" * 6 + b"\x00\x00\x01\x00\x01",
    "large": b"\xff" * 60000,
}


async def test_hostile_packets_do_not_stop_the_server() -> None:
    async with running(seeded()) as at:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for packet in HOSTILE.values():
                sender.sendto(packet, at)
        for packet in HOSTILE.values():
            reader, writer = await asyncio.open_connection(*at)
            writer.write(len(packet).to_bytes(2, "big") + packet)
            writer.write_eof()
            await reader.read()
            writer.close()
            await writer.wait_closed()
        answer = await ask(at, "iis.default.svc.cluster.local")
    assert texts(answer) == ["10.96.0.7"]
