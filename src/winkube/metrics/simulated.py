"""What pods of simulated nodes use: what their annotations say, for nobody can measure it.

``simulation.winkube.dev/usage.<container>: cpu=80m,memory=20Mi``. Autoscalers then see a load that
one sets with ``kubectl annotate``.
"""

from typing import Final

from winkube.api.meta import annotations_of
from winkube.api.quantity import QuantityError, parse_quantity
from winkube.api.simulation import PREFIX
from winkube.base.types import JsonObject
from winkube.metrics.figures import Figure

_USAGE: Final = f"{PREFIX}usage."
_NANO: Final = 10**9
_WINDOW: Final = 15 * _NANO


def said_figures(pod: JsonObject, now: float) -> dict[str, Figure] | None:
    """By container; None where nothing is said."""
    found = {
        name.removeprefix(_USAGE): _figure(text, now)
        for name, text in annotations_of(pod).items()
        if name.startswith(_USAGE)
    }
    return found or None


def _figure(text: str, now: float) -> Figure:
    parts = (part.partition("=") for part in text.split(","))
    said = {key.strip(): value.strip() for key, _, value in parts}
    cpu, memory = _amount(said.get("cpu")), _amount(said.get("memory"), unit=1)
    return Figure(cpu, memory, int(now * _NANO), _WINDOW)


def _amount(text: str | None, unit: int = _NANO) -> int:
    try:
        return max(0, int(parse_quantity(text or "0") * unit))
    except QuantityError:
        # A script is the tester's own; nonsense in it plays as if nothing was said.
        return 0
