"""Links of proxied pages lead through the proxy."""

import asyncio
import time

import pytest

from winkube.aio.fair import FairGate
from winkube.apiserver.streaming.links import Links
from winkube.apiserver.streaming.relay import Pages

PREFIX = "/api/v1/namespaces/ns/pods/p:80/proxy"
LINKS = Links(PREFIX, frozenset({"10.0.0.1:80", "server:6443"}))


@pytest.mark.parametrize(
    ("link", "changed"),
    [
        ("/rewriteme", f"{PREFIX}/rewriteme"),
        ("/folder/", f"{PREFIX}/folder/"),
        ("/", f"{PREFIX}/"),
        ("/a?b=c#d", f"{PREFIX}/a?b=c#d"),
        ("relative", "relative"),
        ("https://elsewhere/x", "https://elsewhere/x"),
        ("http://10.0.0.1:80/x", f"{PREFIX}/x"),
        ("http://server:6443/x", f"{PREFIX}/x"),
        (f"{PREFIX}/x", f"{PREFIX}/x"),
        ("http://[bad/x", "http://[bad/x"),
        ("", ""),
    ],
)
def test_a_link_to_the_server_itself_gets_the_prefix(link: str, changed: str) -> None:
    assert LINKS.change(link) == changed


@pytest.mark.parametrize(
    ("page", "changed"),
    [
        ('<a href="/x">t</a>', f'<a href="{PREFIX}/x">t</a>'),
        ("<A HREF='/x' id=i>t</A>", f'<a href="{PREFIX}/x" id="i">t</A>'),
        ('<img src="/i.png"/>', f'<img src="{PREFIX}/i.png"/>'),
        ('<p title="/x">/x</p>', '<p title="/x">/x</p>'),
        ('<!-- <a href="/x"> -->', '<!-- <a href="/x"> -->'),
        ("<script>'<a href=\"/x\">'</script>", "<script>'<a href=\"/x\">'</script>"),
        ('<script src="/s.js"></script>', f'<script src="{PREFIX}/s.js"></script>'),
        ("1 < 2 & 3 > 2", "1 < 2 & 3 > 2"),
        ("foo", "foo"),
    ],
)
def test_a_page_keeps_all_but_its_links(page: str, changed: str) -> None:
    assert LINKS.change_page(page) == changed


@pytest.mark.parametrize("piece", ["<a ", '<a b="', "<!--", "<script>", "<a<"])
def test_a_page_that_never_ends_its_tags_is_read_once(piece: str) -> None:
    started = time.monotonic()
    LINKS.change_page(piece * 100_000)
    assert time.monotonic() - started < 5


def test_a_character_by_too_long_a_number_stays_as_it_is() -> None:
    page = f'<a href="&#{"1" * 10_000};">t</a>'
    assert LINKS.change_page(page) == page


async def test_pages_are_changed_one_at_a_time() -> None:
    gate: FairGate[str] = FairGate(1)
    pages = Pages(LINKS, gate, "reader")
    await gate.enter("other")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(pages.change(b'<a href="/x">'), name="page")
        await asyncio.sleep(0)
        assert gate.waiting("reader") == 1
        gate.leave("other")
    assert task.result() == f'<a href="{PREFIX}/x">'.encode()
