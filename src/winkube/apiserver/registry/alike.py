"""Pods like the one before: controllers make them by the hundred, alike but for their names.

Theory of operation. What becomes of a pod depends on its text without name and labels, on who sends
it, and on what admission sees of the world (``Chain.world``; a step that cannot say what it sees is
asked every time). A text that comes again is worth remembering: of the second pod that was made of
it the long way a pattern is kept, and the third, made the long way too, has to be what the pattern
says to the last byte. From then on such a pod is the pattern with its own name, labels, uid and
time in it, as long as admission sees what it saw.
"""

import re
import secrets
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from winkube.apiserver.item import Item
from winkube.apiserver.options import WriteOptions
from winkube.apiserver.registry.core import Registry
from winkube.apiserver.served import Served
from winkube.apiserver.storage import MARK
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject

_REMEMBERED: Final = 512
_MAX_BYTES: Final = 16 * 1024
# Names that nothing can be said about: anything else goes the long way.
_PLAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_PLAIN_VALUE: Final = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
# Labels of this domain mean something, and so does any where a selector is made of its value.
_DOMAIN: Final = "kubernetes.io/"
_SELECTING: Final = b"LabelKeys"
# The claims of such volumes are named after the pod, and validation looks at their names.
_NAMED_AFTER_IT: Final = b'"ephemeral":'
# Not guessable, so no user's text can hold them.
_NAME, _UID, _TIME, _LABELS = (secrets.token_hex(16) for _ in range(4))
_PLACES: Final = (
    (_NAME.encode(), b"%(name)b"),
    (_UID.encode(), b"%(uid)b"),
    (_TIME.encode(), b"%(time)b"),
    (f'"{_LABELS}"'.encode(), b"%(labels)b"),
)

World = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Likeness:
    """A pod that is about to be made: all that decides what becomes of it, and what is its own."""

    key: Hashable
    world: World
    name: str
    base: str  # of a name that is yet to be made
    labels: bytes  # empty where they are part of the key


class _Pattern:
    """What such pods became: not used until another one agreed, and never if it did not."""

    __slots__ = ("agreed", "text", "warnings", "world")

    def __init__(self, text: bytes | None, warnings: Sequence[str], world: World) -> None:
        self.text = text
        self.warnings = tuple(warnings)
        self.world = world
        self.agreed = False

    def compare(self, item: Item, warnings: Sequence[str], labels: bytes) -> None:
        """Agree with a pod that was made the long way, or never."""
        metadata = item.load()["metadata"]
        if self.agreed or self.text is None or _crosses_a_second(metadata):
            return
        own = (metadata["name"], metadata["uid"], metadata["creationTimestamp"])
        told = self.filled(*own, labels)
        told = told.replace(MARK.encode(), metadata["resourceVersion"].encode())
        self.agreed = told == item.data and self.warnings == tuple(warnings)
        if not self.agreed:
            self.text = None

    def filled(self, name: str, uid: str, time: str, labels: bytes) -> bytes:
        assert self.text is not None
        return self.text % {
            b"name": name.encode(),
            b"uid": uid.encode(),
            b"time": time.encode(),
            b"labels": labels,
        }


class Alike:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        # A key whose pattern is None was seen once.
        self._known: OrderedDict[Hashable, _Pattern | None] = OrderedDict()

    def likeness(
        self, served: Served, namespace: str, document: Any, raw: bytes, options: WriteOptions
    ) -> Likeness | None:
        """None for whatever has to go the long way in any case."""
        is_new_pod = served.kind.gvk == ("", "v1", "Pod") and not options.dry_run
        if not is_new_pod or len(raw) >= _MAX_BYTES or not _is_nameable(document):
            return None
        if _NAMED_AFTER_IT in raw:
            return None
        registry, metadata = self._registry, document["metadata"]
        text, labels = _texts(document, metadata)
        # A text with anything else in it may say a key twice, or spell a number in its own way.
        if served.prefix in registry.hooks or orjson.dumps(document) != raw.strip():
            return None
        world = registry.admission.world(served, namespace, document, options.user)
        if world is None:
            return None
        user = options.user
        who = (user.name, user.groups, options.manager, options.field_validation)
        # What stands where decides what the answer looks like.
        shape = (*metadata, "", *metadata["labels"]) if labels else (*metadata,)
        name, base = metadata.get("name", ""), metadata.get("generateName", "")
        return Likeness((namespace, who, shape, text), world, name, base, labels)

    async def create(
        self, served: Served, namespace: str, like: Likeness, options: WriteOptions
    ) -> Item | None:
        """None where it has to go the long way: nothing is remembered, or the name is taken."""
        pattern = self._known.get(like.key)
        if pattern is None or not pattern.agreed or pattern.world != like.world:
            return None
        registry = self._registry
        name = like.name or registry.chance.name(like.base)
        key = served.key(namespace, name)
        if not _is_plain(name) or served.cache.get(key) is not None:
            return None
        self._known.move_to_end(like.key)
        time = to_rfc3339(registry.clock.now())
        text = pattern.filled(name, registry.chance.uid(), time, like.labels)
        item = await registry.storage.create_text(served, key, text)
        if item is not None:
            options.warnings.extend(pattern.warnings)
        return item

    def learn(self, like: Likeness, item: Item, warnings: Sequence[str]) -> None:
        """``item`` is what became of such a pod on the long way."""
        known = self._known
        if not _is_plain(item.name):
            return
        if like.key not in known:
            known[like.key] = None
            if len(known) > _REMEMBERED:
                known.popitem(last=False)
            return
        known.move_to_end(like.key)
        pattern = known[like.key]
        if pattern is None or pattern.world != like.world:
            text = _pattern_of(item, has_labels=bool(like.labels))
            known[like.key] = _Pattern(text, warnings, like.world)
        else:
            pattern.compare(item, warnings, like.labels)


def _is_plain(name: str) -> bool:
    return _PLAIN.fullmatch(name) is not None


def _is_nameable(document: Any) -> bool:
    """Whether it has the form of a pod and a name, or a beginning of one, that is as any other."""
    if type(document) is not dict or type(document.get("spec")) is not dict:
        return False
    metadata = document.get("metadata")
    if type(metadata) is not dict or "managedFields" in metadata:
        return False
    name, base = metadata.get("name", ""), metadata.get("generateName", "")
    if type(name) is not str or type(base) is not str:
        return False
    # One that is given and empty would be left out, and then stand elsewhere.
    return _is_plain(name) if "name" in metadata else bool(base)


def _texts(document: JsonObject, metadata: JsonObject) -> tuple[bytes, bytes]:
    """Of all but the name and, where they mean nothing to us, the labels; and of these."""
    others = {key: value for key, value in metadata.items() if key not in ("name", "labels")}
    text = orjson.dumps({**document, "metadata": others})
    labels = metadata.get("labels")
    if _are_own(labels) and _SELECTING not in text:
        return text, orjson.dumps(labels)
    if "labels" in metadata:
        others["labels"] = labels
        text = orjson.dumps({**document, "metadata": others})
    return text, b""


def _are_own(labels: Any) -> bool:
    """Whether nothing but selectors will ever look at them, and nothing is to be said of them."""
    if type(labels) is not dict or not labels:
        return False
    return not any(_DOMAIN in key for key in labels) and all(
        type(value) is str and _PLAIN_VALUE.fullmatch(value) for value in labels.values()
    )


def _pattern_of(item: Item, *, has_labels: bool) -> bytes | None:
    """The object's text with places for what is its own; None if that stands elsewhere too."""
    obj = item.load()
    metadata = obj["metadata"]
    managers = metadata.get("managedFields") or []
    own = [metadata["uid"], metadata["creationTimestamp"]]
    if len(managers) != 1 or _crosses_a_second(metadata):
        return None
    metadata.update(name=_NAME, uid=_UID, creationTimestamp=_TIME, resourceVersion=MARK)
    managers[0]["time"] = _TIME
    if has_labels:
        metadata["labels"] = _LABELS
    text = orjson.dumps(obj)
    if any(value.encode() in text for value in own):
        return None
    text = text.replace(b"%", b"%%")
    for mark, place in _PLACES:
        text = text.replace(mark, place)
    return text


def _crosses_a_second(metadata: JsonObject) -> bool:
    """Whether its owner is noted with another time than its creation."""
    return any(
        manager.get("time") != metadata["creationTimestamp"]
        for manager in metadata.get("managedFields") or ()
    )
