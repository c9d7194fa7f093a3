"""How the API server's costs grow: the same requests with 1,000, 5,000 and 20,000 pods stored.

Creates and gets should cost the same whatever is stored, a list should cost the same per pod.
Processor time of the server, so that other work on the machine does not count; where upstream is
built (``make upstream``) it is measured in the same run. Run as ``python -m bench.growth``.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson
import uvloop

from bench import api
from winkube.testing.planes import Make, Plane, api_server, upstream_folder

SIZES = (1_000, 5_000, 20_000)
PROBE = 500
PODS = "/api/v1/namespaces/default/pods"


@dataclass(frozen=True)
class Costs:
    """Microseconds of the server for one create, one get, one pod of a list; resident memory."""

    create: float
    get: float
    listed: float
    megabytes: float


async def _costs(plane: Plane) -> dict[int, Costs]:
    with api.connected(plane) as client:
        account = orjson.dumps({"metadata": {"name": "default"}})
        await client.call("POST", "/api/v1/namespaces/default/serviceaccounts", account)
        found: dict[int, Costs] = {}
        stored = 0
        for size in SIZES:
            await _fill(client, stored, size - PROBE)
            found[size] = await _probe(client, plane.pids, size)
            stored = size
        return found


async def _fill(client: api.Client, start: int, end: int) -> None:
    def make(number: int) -> bytes:
        return orjson.dumps(api.pod(start + number, (start + number) % api.APPS))

    await api.spread(end - start, lambda n: client.call("POST", PODS, make(n)))


async def _probe(client: api.Client, pids: tuple[int, ...], size: int) -> Costs:
    before = api.used(pids)
    await _fill(client, size - PROBE, size)
    created = api.used(pids)
    await api.spread(PROBE, lambda n: client.call("GET", f"{PODS}/pod-{n * 7 % size:05d}"))
    got = api.used(pids)
    for _ in range(3):
        await client.call("GET", "/api/v1/pods")
    listed = api.used(pids)
    return Costs(
        (created - before) / PROBE * 1e6,
        (got - created) / PROBE * 1e6,
        (listed - got) / 3 / size * 1e6,
        sum(map(api.resident, pids)),
    )


def _run(make: Make) -> dict[int, Costs]:
    with (
        tempfile.TemporaryDirectory(prefix="winkube-bench-") as name,
        api_server(make, Path(name)) as plane,
    ):
        return uvloop.run(_costs(plane))


def _lines(make: Make) -> Iterator[str]:
    began = time.perf_counter()
    costs = _run(make)
    first = costs[SIZES[0]]
    for size, cost in costs.items():
        yield (
            f"{make:<10}{size:>8}{cost.create:>10.0f}{cost.get:>8.0f}{cost.listed:>12.1f}"
            f"{cost.megabytes:>8.0f}   create {cost.create / first.create:.1f} x, "
            f"get {cost.get / first.get:.1f} x, list {cost.listed / first.listed:.1f} x"
        )
    yield f"{'':<10}in {time.perf_counter() - began:.0f} s"


def main() -> int:
    print(f"{'':<10}{'pods':>8}{'create us':>10}{'get us':>8}{'us/listed':>12}{'MB':>8}   growth")
    makes: tuple[Make, ...] = ("winkube", "upstream") if upstream_folder() else ("winkube",)
    for make in makes:
        for line in _lines(make):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
