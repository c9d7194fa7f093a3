"""Services take cluster addresses and node ports with them into the store, and give them back.

Everything between taking a number and knowing the write's outcome happens in one process, and
``begin`` never awaits: two requests cannot get the same number. As upstream, numbers are taken
before the object is validated, since validation wants them there.
"""

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address

from winkube.api.addresses import parse_address
from winkube.api.errors import Cause, InternalError, InvalidError, UnexplainedError
from winkube.apiserver.registry.hook import Finish
from winkube.apiserver.services.address import Pool, address_pool, port_pool
from winkube.apiserver.services.change import (
    WITH_NODE_PORTS,
    keep_allocated,
    needs_health_check,
)
from winkube.apiserver.services.families import complete_families, normalise_addresses
from winkube.base.types import JsonObject

Held = tuple[Pool, int]
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
    def __init__(self, cidr: str, node_ports: tuple[int, int]) -> None:
        self._cidr, self._node_ports = cidr, node_ports
        self._addresses = address_pool(cidr)
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
        number = _number(spec.get("clusterIP"))
        if number is not None and number in self._addresses:
            yield self._addresses, number
        ports = [port.get("nodePort") for port in spec.get("ports") or ()]
        for port in {*ports, spec.get("healthCheckNodePort")}:
            if isinstance(port, int) and port in self._ports:
                yield self._ports, port

    def _complete(self, new: JsonObject, old: JsonObject | None, claims: _Claims) -> None:
        spec, name = new["spec"], new["metadata"].get("name") or ""
        if old is not None:
            keep_allocated(spec, old)
        normalise_addresses(spec, old)
        complete_families(name, spec, old)
        if spec.get("type") != "ExternalName" and _is_new(old):
            self._allocate_address(spec, name, claims)
        if spec.get("type") in WITH_NODE_PORTS:
            if old is None:
                self._first_ports(spec, name, claims)
            else:
                self._next_ports(spec, old, name, claims)
        if needs_health_check(spec) and not (old is not None and needs_health_check(old)):
            self._health_port(spec, claims)

    def _allocate_address(self, spec: JsonObject, name: str, claims: _Claims) -> None:
        every = list(spec.get("clusterIPs") or ())
        if every == ["None"]:
            return
        if every and every[0]:
            self._claim_address(every, name, claims)
        else:
            number = claims.take_any(self._addresses)
            if number is None:
                raise InternalError(
                    "Internal error occurred: failed to allocate a serviceIP: range is full"
                )
            every = [str(IPv4Address(number))]
        spec["clusterIP"], spec["clusterIPs"] = every[0], every

    def _claim_address(self, every: list[str], name: str, claims: _Claims) -> None:
        wanted = every[0]
        number = _number(wanted)
        problem = ""
        if number is None or number not in self._addresses:
            problem = "the provided network does not match the current range"
            if claims.dry_run:
                problem = (
                    f"the provided IP ({wanted}) is not in the valid range. The range of valid "
                    f"IPs is {self._cidr}"
                )
        elif not claims.take(self._addresses, number):
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


def _is_new(old: JsonObject | None) -> bool:
    return old is None or old.get("type") == "ExternalName"


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


def _number(text: str | None) -> int | None:
    address = parse_address(text)
    return int(address) if isinstance(address, IPv4Address) else None


def _invalid(name: str, field: str, message: str) -> InvalidError:
    return InvalidError.of("Service", name, [Cause("FieldValueInvalid", message, field)])
