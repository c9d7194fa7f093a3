"""Services take cluster addresses and node ports with them into the store, and give them back.

Everything between taking a number and knowing the write's outcome happens in one process, and
``begin`` never awaits: two requests cannot get the same number.
"""

from collections.abc import Iterable
from ipaddress import AddressValueError, IPv4Address

from winkube.api.errors import Cause, InternalError, InvalidError
from winkube.apiserver.registry.hook import Finish
from winkube.apiserver.services.address import Pool, address_pool, port_pool
from winkube.base.types import JsonObject

_WITH_NODE_PORTS = ("NodePort", "LoadBalancer")


class _Claims:
    """What one write has taken, and what it will free when it succeeds."""

    def __init__(self, addresses: Pool, ports: Pool) -> None:
        self.addresses, self.ports = addresses, ports
        self.taken: list[tuple[Pool, int]] = []
        self.freed: list[tuple[Pool, int]] = []

    def finish(self, succeeded: bool) -> None:
        for pool, number in self.freed if succeeded else self.taken:
            pool.give_back(number)


class ServiceHook:
    def __init__(self, cidr: str, node_ports: tuple[int, int]) -> None:
        self._cidr = cidr
        self._node_ports = node_ports
        self._addresses = address_pool(cidr)
        self._ports = port_pool(*node_ports)

    def restore(self, services: Iterable[JsonObject]) -> None:
        """Mark as taken what stored services hold."""
        for service in services:
            for pool, number in self._held(service):
                pool.take(number)

    def begin(self, new: JsonObject | None, old: JsonObject | None) -> Finish:
        claims = _Claims(self._addresses, self._ports)
        before = list(self._held(old)) if old is not None else []
        if new is None:
            claims.freed = before
            return claims.finish
        try:
            self._complete(new, claims, before)
        except BaseException:
            claims.finish(succeeded=False)
            raise
        kept = set(self._held(new))
        claims.freed = [entry for entry in before if entry not in kept]
        return claims.finish

    def _held(self, service: JsonObject) -> Iterable[tuple[Pool, int]]:
        spec = service.get("spec") or {}
        number = _number(spec.get("clusterIP"))
        if number is not None and number in self._addresses:
            yield self._addresses, number
        ports = {port.get("nodePort") for port in spec.get("ports") or ()}
        for port in sorted(ports | {spec.get("healthCheckNodePort")} - {None, 0}, key=str):
            if isinstance(port, int) and port in self._ports:
                yield self._ports, port

    def _complete(self, new: JsonObject, claims: _Claims, before: list[tuple[Pool, int]]) -> None:
        spec, name = new["spec"], new["metadata"]["name"]
        held: dict[int, set[int]] = {id(self._addresses): set(), id(self._ports): set()}
        for pool, number in before:
            held[id(pool)].add(number)
        if spec.get("type") != "ExternalName":
            self._address(spec, name, claims, held[id(self._addresses)])
        if _needs_node_ports(spec):
            self._allocate_ports(spec, name, claims, held[id(self._ports)])

    def _address(self, spec: JsonObject, name: str, claims: _Claims, held: set[int]) -> None:
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")
        wanted = spec.get("clusterIP")
        if wanted == "None":
            spec["clusterIPs"] = ["None"]
            return
        if not wanted:
            number = self._addresses.take_any()
            if number is None:
                raise InternalError(
                    "Internal error occurred: failed to allocate a serviceIP: range is full"
                )
            claims.taken.append((self._addresses, number))
            spec["clusterIP"] = str(IPv4Address(number))
        else:
            self._claim_address(wanted, name, claims, held)
        spec["clusterIPs"] = [spec["clusterIP"]]

    def _claim_address(self, wanted: str, name: str, claims: _Claims, held: set[int]) -> None:
        number = _number(wanted)
        if number in held:
            return
        problem = ""
        if number is None or number not in self._addresses:
            problem = (
                f"the provided IP ({wanted}) is not in the valid range. "
                f"The range of valid IPs is {self._cidr}"
            )
        elif not self._addresses.take(number):
            problem = "provided IP is already allocated"
        else:
            claims.taken.append((self._addresses, number))
        if problem:
            text = f'Invalid value: ["{wanted}"]: failed to allocate IP {wanted}: {problem}'
            raise _invalid(name, "spec.clusterIPs", text)

    def _allocate_ports(self, spec: JsonObject, name: str, claims: _Claims, held: set[int]) -> None:
        for index, port in enumerate(spec.get("ports") or ()):
            wanted = port.get("nodePort")
            if not wanted:
                port["nodePort"] = self._any_port(claims)
            else:
                self._claim_port(wanted, (name, f"spec.ports[{index}].nodePort"), claims, held)
            held.add(port["nodePort"])  # one number may serve TCP and UDP of one service
        local = spec.get("externalTrafficPolicy") == "Local"
        if local and spec.get("type") == "LoadBalancer" and not spec.get("healthCheckNodePort"):
            spec["healthCheckNodePort"] = self._any_port(claims)

    def _any_port(self, claims: _Claims) -> int:
        number = self._ports.take_any()
        if number is None:
            raise InternalError(
                "Internal error occurred: failed to allocate a nodePort: range is full"
            )
        claims.taken.append((self._ports, number))
        return number

    def _claim_port(
        self, wanted: int, place: tuple[str, str], claims: _Claims, held: set[int]
    ) -> None:
        if wanted in held:
            return
        problem = ""
        if wanted not in self._ports:
            low, high = self._node_ports
            problem = (
                f"provided port is not in the valid range. The range of valid ports is {low}-{high}"
            )
        elif not self._ports.take(wanted):
            problem = "provided port is already allocated"
        else:
            claims.taken.append((self._ports, wanted))
        if problem:
            raise _invalid(place[0], place[1], f"Invalid value: {wanted}: {problem}")


def _needs_node_ports(spec: JsonObject) -> bool:
    if spec.get("type") == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
        return any(port.get("nodePort") for port in spec.get("ports") or ())
    return spec.get("type") in _WITH_NODE_PORTS


def _number(text: str | None) -> int | None:
    if not text or text == "None":
        return None
    try:
        return int(IPv4Address(text))
    except AddressValueError:
        return None


def _invalid(name: str, field: str, message: str) -> InvalidError:
    return InvalidError.of("Service", name, [Cause("FieldValueInvalid", message, field)])


def keep_allocated(new: JsonObject, old: JsonObject) -> None:
    """An update that leaves out what was allocated means to keep it (upstream does the same)."""
    fresh, held = new.get("spec") or {}, old.get("spec") or {}
    if fresh.get("type") != "LoadBalancer" and new.get("status"):
        # Whoever made the address removes it later; nobody is to use it meanwhile.
        new["status"] = {**new["status"], "loadBalancer": {}}
    if "ExternalName" in (fresh.get("type"), held.get("type")):
        if fresh.get("type") == "ExternalName" and fresh.get("clusterIP") == held.get("clusterIP"):
            for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
                fresh.pop(field, None)
    elif not fresh.get("clusterIP"):
        for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if field in held:
                fresh[field] = held[field]
    elif not fresh.get("clusterIPs") or _only_first_changed(fresh, held):
        fresh["clusterIPs"] = [fresh["clusterIP"]]
    _keep_ports(fresh, held)
    _drop_unused(fresh, held)


def _only_first_changed(fresh: JsonObject, held: JsonObject) -> bool:
    """A client that knows one address only: the list follows it."""
    changed = fresh["clusterIP"] != held.get("clusterIP")
    return bool(changed and fresh["clusterIPs"] == held.get("clusterIPs"))


# Fields that only some types have: leaving such a type unchanged otherwise leaves them behind.
_ONLY_FOR = (
    ("externalTrafficPolicy", _WITH_NODE_PORTS),
    ("healthCheckNodePort", ("LoadBalancer",)),
    ("allocateLoadBalancerNodePorts", ("LoadBalancer",)),
    ("loadBalancerClass", ("LoadBalancer",)),
)


def _drop_unused(fresh: JsonObject, held: JsonObject) -> None:
    for field, types in _ONLY_FOR:
        same = field in fresh and fresh[field] == held.get(field)
        if same and fresh.get("type") not in types and held.get("type") in types:
            fresh.pop(field)


def _keep_ports(fresh: JsonObject, held: JsonObject) -> None:
    known = {
        (port.get("port"), port.get("protocol")): port.get("nodePort")
        for port in held.get("ports") or ()
    }
    wants = fresh.get("type") in _WITH_NODE_PORTS
    for port in fresh.get("ports") or ():
        number = known.get((port.get("port"), port.get("protocol")))
        if wants and not port.get("nodePort") and number:
            port["nodePort"] = number
        elif not wants and number and port.get("nodePort") == number:
            port.pop("nodePort")
    checked = held.get("healthCheckNodePort")
    if wants and checked and fresh.get("externalTrafficPolicy") == "Local":
        fresh.setdefault("healthCheckNodePort", checked)
