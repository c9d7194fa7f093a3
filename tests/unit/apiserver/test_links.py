"""Links of proxied pages lead through the proxy."""

import time

import pytest

from winkube.apiserver.streaming.links import Links

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
