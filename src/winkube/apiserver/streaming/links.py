"""Links in what a proxied server answers, changed to lead through the proxy again.

A page that says ``/style.css`` means its own server; its reader only knows ours. Redirects and
HTML are changed, other content passes as it is (k8s.io/apimachinery: pkg/util/proxy/transport.go).
"""

import html
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Final
from urllib.parse import urlsplit, urlunsplit

# Attributes that hold a URL, by element (HTML 4 and 5, index of attributes).
_URLS: Final = {
    "a": ("href",),
    "applet": ("codebase",),
    "area": ("href",),
    "audio": ("src",),
    "base": ("href",),
    "blockquote": ("cite",),
    "body": ("background",),
    "button": ("formaction",),
    "command": ("icon",),
    "del": ("cite",),
    "embed": ("src",),
    "form": ("action",),
    "frame": ("longdesc", "src"),
    "head": ("profile",),
    "html": ("manifest",),
    "iframe": ("longdesc", "src"),
    "img": ("longdesc", "src", "usemap"),
    "input": ("src", "usemap", "formaction"),
    "ins": ("cite",),
    "link": ("href",),
    "object": ("classid", "codebase", "data", "usemap"),
    "q": ("cite",),
    "script": ("src",),
    "source": ("src",),
    "video": ("poster", "src"),
}
# In these, what looks like a tag is text.
_TEXT: Final = "script|style|textarea|title|xmp|iframe|noembed|noframes|noscript|plaintext"
# Whatever begins also ends, if only with the page: so one look at each character is enough.
_START: Final = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|(?P<tag><(?P<name>[a-zA-Z][^\s/>]*)"
    r"(?:[^\"'>]|\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z))*+(?:>|\Z))",
    re.DOTALL,
)
_TEXT_NAME: Final = re.compile(_TEXT)


@dataclass(frozen=True, slots=True)
class Links:
    """``prefix`` is the proxy's path; ``hosts`` are names that mean the proxied server."""

    prefix: str
    hosts: frozenset[str]

    def change(self, link: str) -> str:
        try:
            parts = urlsplit(link)
        except ValueError:
            return link
        elsewhere = parts.netloc and parts.netloc not in self.hosts
        if elsewhere or not parts.path.startswith("/"):
            return link
        path = parts.path
        if not path.startswith(self.prefix):
            path = posixpath.normpath(f"{self.prefix}/{path}")
            if parts.path.endswith("/"):
                path += "/"
        return urlunsplit(("", "", path, parts.query, parts.fragment))

    def change_page(self, page: str) -> str:
        return _change_page(page, self.change)


def _change_page(page: str, change: Callable[[str], str]) -> str:
    done, position = [], 0
    while (found := _START.search(page, position)) is not None:
        done.append(page[position : found.start()])
        position = found.end()
        tag = found["tag"]
        if tag is None:
            done.append(found[0])
            continue
        done.append(_change_tag(tag, change))
        name = found["name"].lower()
        if _TEXT_NAME.fullmatch(name) and not tag.endswith("/>"):
            end = re.compile(rf"</{re.escape(name)}[\s/>]|\Z", re.IGNORECASE).search(page, position)
            assert end is not None  # the end of the text matches
            done.append(page[position : end.start()])
            position = end.start()
    done.append(page[position:])
    return "".join(done)


def _change_tag(tag: str, change: Callable[[str], str]) -> str:
    reader = _Tag()
    try:
        reader.feed(tag)
    except ValueError:
        # A character by a number of thousands of digits is none.
        return tag
    if reader.name is None:
        return tag
    urls = _URLS.get(reader.name, ())
    pairs = [(key, change(value) if key in urls else value) for key, value in reader.pairs]
    text = "".join(f' {key}="{html.escape(value)}"' for key, value in pairs)
    return f"<{reader.name}{text}{'/' if reader.closed else ''}>"


class _Tag(HTMLParser):
    """Reads one start tag."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.name: str | None = None
        self.pairs: list[tuple[str, str]] = []
        self.closed = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.name, self.pairs = tag, [(key, value or "") for key, value in attrs]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.closed = True
