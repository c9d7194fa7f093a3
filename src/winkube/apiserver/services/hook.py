"""Services take cluster addresses and node ports with them into the store, and give them back.

Everything between taking a number and knowing the write's outcome happens in one process, and
``begin`` never awaits: two requests cannot get the same number. As upstream, numbers are taken
before the object is validated, since validation wants them there.
"""

from collections.abc import Iterable, Iterator

from winkube.api.addresses import service_ranges
from winkube.api.errors import Cause, InternalError, InvalidError, UnexplainedError
from winkube.apiserver.registry.hook import Finish
from winkube.apiserver.services.address import Addresses, Held, Pool, port_pool
from winkube.apiserver.services.change import (
    WITH_NODE_PORTS,
    keep_allocated,
    needs_health_check,
)
from winkube.apiserver.services.families import complete_families, normalise_addresses
from winkube.apiserver.services.ranges import Ranges
from winkube.base.types import JsonObject

_TAKEN = "provided port is already allocated"
_LAST_PORT = 32768


class _Claims:
    """What one write has taken; a rehearsal takes nothing.

    As upstream's does, that finds every address free, and ports that nobody has.
    """

    def __init__(self, *, dry_run: bool) -> None:
        self.dry_run = dry_run
        self.taken: list[Held] = []
        self._ports: set[int] = set()
        self._last_port = 0

    def take(self, pool: Pool, number: int) -> bool:
        if self.dry_run:
            return True
        if not pool.take(number):
            return False
        self.taken.append((pool, number))
        return True

    def take_port(self, pool: Pool, number: int) -> bool:
        if not self.dry_run:
            return self.take(pool, number)
        if number in self._ports or pool.is_taken(number):
            return False
        self._rehearse(number)
        return True

    def rehearse_port(self) -> int:
        """The number upstream shows for one that a trial would get."""
        number = (self._last_port or _LAST_PORT) + 1
        self._rehearse(number)
        return number

    def _rehearse(self, port: int) -> None:
        self._ports.add(port)
        self._last_port = max(self._last_port, port)

    def take_any(self, pool: Pool) -> int | None:
        number = pool.take_any()
        if number is not None:
            self.taken.append((pool, number))
        return number

    def give_back(self) -> None:
        for pool, number in self.taken:
            pool.give_back(number)


class ServiceHook:
    """``ranges`` are the objects that say where addresses come from, where they are served."""

    def __init__(
        self, cidr: str, node_ports: tuple[int, int], ranges: Ranges | None = None
    ) -> None:
        self._node_ports = node_ports
        self._addresses = Addresses(service_ranges(cidr))
        self._ranges = ranges
        self._ports = port_pool(*node_ports)

    def restore(self, services: Iterable[JsonObject]) -> None:
        """Mark as taken what stored services hold."""
        for service in services:
            for pool, number in self._held(service):
                pool.take(number)

    def begin(
        self, new: JsonObject | None, old: JsonObject | None, *, dry_run: bool = False
    ) -> Finish:
        """Complete ``new``; what the write no longer holds is freed when it has succeeded."""
        claims = _Claims(dry_run=dry_run)
        before = set(self._held(old)) if old is not None else set()
        if new is not None:
            try:
                self._complete(new, (old or {}).get("spec"), claims)
            except BaseException:
                claims.give_back()
                raise

        def finish(succeeded: bool) -> None:
            if not succeeded or dry_run:
                claims.give_back()
                return
            kept = set(self._held(new)) if new is not None else set()
            for pool, number in before - kept:
                pool.give_back(number)

        return finish

    def _held(self, service: JsonObject) -> Iterator[Held]:
        spec = service.get("spec") or {}
        for address in spec.get("clusterIPs") or [spec.get("clusterIP")]:
            held = self._addresses.find(address)
            if held is not None:
                yield held
        ports = [port.get("nodePort") for port in spec.get("ports") or ()]
        for port in {*ports, spec.get("healthCheckNodePort")}:
            if isinstance(port, int) and port in self._ports:
                yield self._ports, port

    def _complete(self, new: JsonObject, old: JsonObject | None, claims: _Claims) -> None:
        spec, name = new["spec"], new["metadata"].get("name") or ""
        if self._ranges is not None:
            self._addresses.offer(self._ranges.networks())
        if old is not None:
            keep_allocated(spec, old)
        normalise_addresses(spec, old)
        complete_families(name, spec, old, self._addresses.families)
        self._allocate_addresses(spec, old, name, claims)
        if spec.get("type") in WITH_NODE_PORTS:
            if old is None:
                self._first_ports(spec, name, claims)
            else:
                self._next_ports(spec, old, name, claims)
        if needs_health_check(spec) and not (old is not None and needs_health_check(old)):
            self._health_port(spec, claims)

    def _allocate_addresses(
        self, spec: JsonObject, old: JsonObject | None, name: str, claims: _Claims
    ) -> None:
        """All of a new service; of one that gets a second family, the second."""
        every = list(spec.get("clusterIPs") or ())
        if spec.get("type") == "ExternalName" or every == ["None"]:
            return
        families = spec.get("ipFamilies") or []
        first = 0
        if old is not None and old.get("type") != "ExternalName":
            first = 1
            had = old.get("ipFamilies") or ()
            if len(had) != 1 or len(families) != 2 or old.get("clusterIPs") == ["None"]:
                return
        every += [""] * (len(families) - len(every))
        for index, family in enumerate(families[first:], first):
            if every[index]:
                self._claim_address(every, index, family, name, claims)
            else:
                every[index] = self._any_address(family, claims)
        spec["clusterIP"], spec["clusterIPs"] = every[0], every

    def _any_address(self, family: str, claims: _Claims) -> str:
        if claims.dry_run and (ranges := self._addresses.ranges(family)):
            return str(ranges[0].network_address)
        found = self._addresses.take_any(family)
        if found is None:
            raise InternalError(
                "Internal error occurred: failed to allocate a serviceIP: range is full"
            )
        claims.taken.append(found[0])
        return found[1]

    def _claim_address(
        self, every: list[str], index: int, family: str, name: str, claims: _Claims
    ) -> None:
        wanted = every[index]
        held = self._addresses.find(wanted)
        problem = ""
        if held is None or not self._addresses.is_offered(family, held[1]):
            problem = "the provided network does not match the current range"
            if claims.dry_run and (ranges := self._addresses.ranges(family)):
                problem = (
                    f"the provided IP ({wanted}) is not in the valid range. The range of valid "
                    f"IPs is {ranges[0]}"
                )
        elif not claims.take(*held):
            problem = "provided IP is already allocated"
        if problem:
            shown = ",".join(f'"{address}"' for address in every)
            text = f"Invalid value: [{shown}]: failed to allocate IP {wanted}: {problem}"
            raise _invalid(name, "spec.clusterIPs", text)

    def _first_ports(self, spec: JsonObject, name: str, claims: _Claims) -> None:
        """One number may serve the same port of several protocols."""
        chosen: dict[int, int] = {}
        ports = spec.get("ports") or ()
        asked = _requested(ports)
        for index, port in enumerate(ports):
            if not port.get("nodePort") and not _allocates(spec):
                continue
            service_port = port.get("port") or 0
            number = chosen.get(service_port, 0)
            if not number:
                number = asked.get(service_port, 0)
                if number:
                    self._claim_port(number, name, index, claims)
                else:
                    number = self._any_port(claims)
                port["nodePort"] = chosen[service_port] = number
            elif not port.get("nodePort"):
                port["nodePort"] = number
            elif port["nodePort"] != number:
                self._claim_port(port["nodePort"], name, index, claims)

    def _next_ports(self, spec: JsonObject, old: JsonObject, name: str, claims: _Claims) -> None:
        had = {port.get("nodePort") for port in old.get("ports") or ()}
        claimed: set[int] = set()
        seen: set[tuple[str, int]] = set()
        for index, port in enumerate(spec.get("ports") or ()):
            number = port.get("nodePort")
            if not number:
                if _allocates(spec):
                    port["nodePort"] = self._any_port(claims)
            elif number not in had and number not in claimed:
                self._claim_port(number, name, index, claims)
                claimed.add(number)
            pair = (port.get("protocol") or "", port.get("nodePort") or 0)
            if pair[1] and pair in seen:
                raise UnexplainedError(f"duplicate nodePort: {{{pair[0]} {pair[1]}}}")
            seen.add(pair)

    def _any_port(self, claims: _Claims) -> int:
        if claims.dry_run:
            return claims.rehearse_port()
        number = claims.take_any(self._ports)
        if number is None:
            raise InternalError(
                "Internal error occurred: failed to allocate a nodePort: range is full"
            )
        return number

    def _port_problem(self, wanted: int, claims: _Claims) -> str:
        if not claims.dry_run and wanted not in self._ports:
            low, high = self._node_ports
            return (
                f"provided port is not in the valid range. The range of valid ports is {low}-{high}"
            )
        return "" if claims.take_port(self._ports, wanted) else _TAKEN

    def _claim_port(self, wanted: int, name: str, index: int, claims: _Claims) -> None:
        problem = self._port_problem(wanted, claims)
        if problem:
            path = f"spec.ports[{index}].nodePort"
            raise _invalid(name, path, f"Invalid value: {wanted}: {problem}")

    def _health_port(self, spec: JsonObject, claims: _Claims) -> None:
        wanted = spec.get("healthCheckNodePort")
        if not wanted:
            spec["healthCheckNodePort"] = self._any_port(claims)
            return
        problem = self._port_problem(wanted, claims)
        if problem:
            text = f"failed to allocate requested HealthCheck NodePort {wanted}: {problem}"
            details = {"causes": [{"message": text}]}
            raise InternalError(f"Internal error occurred: {text}", details=details)


def _allocates(spec: JsonObject) -> bool:
    balanced = spec.get("type") == "LoadBalancer"
    return not balanced or spec.get("allocateLoadBalancerNodePorts") is not False


def _requested(ports: Iterable[JsonObject]) -> dict[int, int]:
    """The node port asked for first, by the port of the service."""
    found: dict[int, int] = {}
    for port in ports:
        if port.get("nodePort"):
            found.setdefault(port.get("port") or 0, int(port["nodePort"]))
    return found


def _invalid(name: str, field: str, message: str) -> InvalidError:
    return InvalidError.of("Service", name, [Cause("FieldValueInvalid", message, field)])
