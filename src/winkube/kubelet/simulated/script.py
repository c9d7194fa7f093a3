"""What a simulated container does, as its pod's annotations tell.

``simulation.winkube.dev/<what>`` holds ``key=value`` pairs separated by commas:

- ``exit: after=0.2,code=1``: main containers end so; ``exit.<container>`` is for one container,
  ``exit-<n>`` for the pod with that completion index or ordinal. ``times=2``: only the first
  two starts end so, later ones run on.
- ``start: after=1``: how long a pod's containers take to be created.
- ``ready: after=0.5`` or ``ready: never``: when started containers become ready.
- ``image: missing``: the image cannot be pulled.
- ``stop: after=1,code=143``: how long a container takes to end when told to, and its exit code.
"""

from dataclasses import dataclass
from typing import Final

from winkube.api.simulation import PREFIX
from winkube.base.types import JsonObject
from winkube.kubelet.pod import identity

NEVER: Final = float("inf")
_INDEX_LABELS: Final = ("batch.kubernetes.io/job-completion-index", "apps.kubernetes.io/pod-index")


@dataclass(frozen=True, slots=True)
class Ending:
    """``times``: how many instances end like this; None means every one."""

    after: float = 0.0
    code: int = 0
    times: int | None = None


@dataclass(frozen=True, slots=True)
class Script:
    notes: dict[str, str]
    index: str

    def ending(self, container: JsonObject, *, first: bool, attempt: int) -> Ending | None:
        """How this instance ends; None when it runs until it is stopped.

        ``first`` is true of init containers, which end at once and well unless told otherwise.
        """
        names = [f"exit.{container['name']}"]
        names += [] if first else [f"exit-{self.index}", "exit"]
        for name in names:
            text = self.notes.get(name)
            if text is None:
                continue
            found = _ending(text)
            return None if found.times is not None and attempt >= found.times else found
        return Ending() if first else None

    @property
    def start_after(self) -> float:
        return _number(self.notes.get("start"), "after")

    @property
    def ready_after(self) -> float:
        text = self.notes.get("ready")
        return NEVER if text == "never" else _number(text, "after")

    @property
    def image_missing(self) -> bool:
        return self.notes.get("image") == "missing"

    @property
    def stop(self) -> Ending:
        return _ending(self.notes.get("stop", ""))


def read_script(pod: JsonObject) -> Script:
    metadata = pod["metadata"]
    notes = {
        name.removeprefix(PREFIX): text
        for name, text in (metadata.get("annotations") or {}).items()
        if name.startswith(PREFIX)
    }
    labels = metadata.get("labels") or {}
    index = next((labels[name] for name in _INDEX_LABELS if name in labels), "")
    return Script(notes, index)


def is_first(pod: JsonObject, container: JsonObject) -> bool:
    """Whether this is an init container that has to end before others start."""
    return not identity.is_sidecar(container) and any(
        spec["name"] == container["name"] for spec in identity.init_containers(pod)
    )


def _pairs(text: str | None) -> dict[str, str]:
    parts = (part.partition("=") for part in (text or "").split(",") if part)
    return {key.strip(): value.strip() for key, _, value in parts}


def _number(text: str | None, key: str) -> float:
    try:
        return float(_pairs(text).get(key) or 0.0)
    except ValueError:
        # A script is the tester's own; nonsense in it plays as if nothing was said.
        return 0.0


def _ending(text: str) -> Ending:
    times = _pairs(text).get("times")
    return Ending(
        after=_number(text, "after"),
        code=int(_number(text, "code")),
        times=None if times is None else int(_number(text, "times")),
    )
