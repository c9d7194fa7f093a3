"""Answers that have to be completed by a server nobody can vouch for."""

import asyncio

from dnslib import CNAME, QTYPE, RR, A, DNSRecord
from hypothesis import given, settings
from hypothesis import strategies as st

from winkube.client.informer import Informer
from winkube.client.resource import ENDPOINTSLICES, NAMESPACES, SERVICES
from winkube.dns.answer import Answers
from winkube.dns.directory import InformerDirectory
from winkube.dns.forward import Forwarder
from winkube.dns.responder import Responder
from winkube.dns.zone import Zone
from winkube.testing.fake_api import FakeApi

ALIAS = bytes(DNSRecord.question("out.default.svc.cluster.local").pack())


class OneAnswer(Forwarder):
    def __init__(self, answer: bytes) -> None:
        super().__init__((("192.0.2.53", 53),))
        self._answer = answer

    async def ask(self, packet: bytes, question: bytes, *, tcp: bool) -> bytes | None:
        return self._answer


def good_answer() -> bytes:
    answer = DNSRecord.question("www.example.com").reply()
    answer.add_answer(RR("www.example.com", QTYPE.CNAME, rdata=CNAME("a.example.com"), ttl=60))
    answer.add_answer(RR("a.example.com", QTYPE.A, rdata=A("192.0.2.1"), ttl=60))
    return bytes(answer.pack())


def completed(upstream: bytes) -> DNSRecord:
    async def run() -> bytes | None:
        api = FakeApi()
        spec = {"type": "ExternalName", "externalName": "www.example.com"}
        api.seed(SERVICES, {"metadata": {"namespace": "default", "name": "out"}, "spec": spec})
        informers = [Informer(api, r) for r in (SERVICES, ENDPOINTSLICES, NAMESPACES)]
        directory = InformerDirectory(*informers)
        zone = Zone(directory, "cluster.local", "10.96.0.10")
        responder = Responder(Answers(zone, directory, 5), OneAnswer(upstream))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(informer.run()) for informer in informers]
            for informer in informers:
                await informer.synced.wait()
            assert responder.answer(ALIAS, tcp=False) is None
            answer = await responder.answer_later(ALIAS, tcp=False)
            for task in tasks:
                task.cancel()
        return answer

    raw = asyncio.run(run())
    assert raw is not None
    return DNSRecord.parse(raw)


def test_the_target_s_records_follow_the_alias() -> None:
    answer = completed(good_answer())
    assert [str(record.rdata) for record in answer.rr] == [
        "www.example.com.",
        "a.example.com.",
        "192.0.2.1",
    ]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_answer_never_gets_further_than_servfail(data: st.DataObject) -> None:
    raw = bytearray(good_answer())
    for _ in range(data.draw(st.integers(1, 6))):
        raw[data.draw(st.integers(12, len(raw) - 1))] = data.draw(st.integers(0, 255))
    answer = completed(bytes(raw[: data.draw(st.integers(12, len(raw)))]))
    assert answer.header.rcode in (0, 2, 3)
