"""host-local: addresses for pods from ranges in the configuration, kept in files on this host."""

import sys
from collections.abc import Iterator
from ipaddress import ip_address

from winkube.cni import skel
from winkube.cni.ranges import Range, candidates, parse_range_sets
from winkube.cni.reservation import Reservations
from winkube.cni.skel import Call
from winkube.wire import cni
from winkube.wire.cni import CniError, Json

_KEYS = (
    "type",
    "subnet",
    "rangeStart",
    "rangeEnd",
    "gateway",
    "ranges",
    "routes",
    "dataDir",
    "resolvConf",
)


def _ipam(call: Call) -> Json:
    if not call.conf.get("ipam"):
        raise CniError(cni.INVALID_CONFIG, "IPAM config missing 'ipam' key")
    return cni.fold(call.conf["ipam"], _KEYS)


def _store(call: Call) -> Reservations:
    return Reservations(str(_ipam(call).get("dataDir") or ""), call.conf["name"])


def _requested(call: Call) -> list[str]:
    """Addresses asked for by name: CNI_ARGS, args.cni.ips, and the runtime's ips."""
    args = cni.fold((call.conf.get("args") or {}).get("cni") or {}, ("ips",))
    runtime = cni.fold(call.conf.get("runtimeConfig") or {}, ("ips",))
    wanted = [call.args["IP"]] if call.args.get("IP") else []
    for text in (*wanted, *(args.get("ips") or []), *(runtime.get("ips") or [])):
        try:
            ip_address(str(text).split("/")[0])
        except ValueError:
            raise CniError(cni.INVALID_CONFIG, f"invalid requested IP {text!r}") from None
        wanted.append(str(text).split("/")[0])
    return list(dict.fromkeys(str(text).split("/")[0] for text in wanted))


def add(call: Call) -> Json:
    ipam, sets = _ipam(call), parse_range_sets(call.conf)
    requested = _requested(call)
    ips: list[Json] = []
    with _store(call) as store:
        try:
            for index, ranges in enumerate(sets):
                ips.append(_allocate(call, store, index, ranges, requested))
            if requested:
                raise CniError(
                    cni.GENERIC, f"failed to allocate all requested IPs: {', '.join(requested)}"
                )
        except CniError:
            # Only what this call took: a second ADD must not free the address that is in use.
            for row in ips:
                store.free(row["address"].partition("/")[0])
            raise
    routes = [_route(row) for row in ipam.get("routes") or []]
    return {"ips": ips, "routes": routes, "dns": _resolv_conf(str(ipam.get("resolvConf") or ""))}


def _allocate(
    call: Call, store: Reservations, index: int, ranges: list[Range], requested: list[str]
) -> Json:
    try:
        _refuse_duplicate(call, store, ranges)
        for address, row in _offers(store, index, ranges, requested):
            if store.reserve(str(address), call.container_id, call.ifname, index):
                prefix = row.subnet.prefixlen
                return {"address": f"{address}/{prefix}", "gateway": str(row.gateway)}
        spans = ",".join(map(str, ranges))
        raise CniError(cni.GENERIC, f"no IP addresses available in range set: {spans}")
    except CniError as error:
        message = f"failed to allocate for range {index}: {error.message}"
        raise CniError(error.code, message) from error


def _refuse_duplicate(call: Call, store: Reservations, ranges: list[Range]) -> None:
    for text in store.of(call.container_id, call.ifname):
        if any(row.holds(ip_address(text)) for row in ranges):
            raise CniError(
                cni.GENERIC,
                f"{text} has been allocated to {call.container_id}, "
                "duplicate allocation is not allowed",
            )


def _offers(
    store: Reservations, index: int, ranges: list[Range], requested: list[str]
) -> Iterator[tuple[object, Range]]:
    for text in requested:
        address = ip_address(text)
        for row in ranges:
            if row.holds(address):
                if address == row.gateway:
                    raise CniError(cni.GENERIC, f"requested ip {address} is subnet's gateway")
                requested.remove(text)
                yield address, row
                taken = f"requested IP address {address} is not available in range set {row}"
                raise CniError(cni.GENERIC, taken)
    last = store.last_reserved(index)
    yield from candidates(ranges, ip_address(last) if last else None)


def _route(document: object) -> Json:
    row = cni.fold(document, ("dst", "gw"))
    return {key: row[key] for key in ("dst", "gw") if row.get(key)}


def _resolv_conf(path: str) -> Json:
    """DNS of a resolv.conf-style file, when the configuration names one."""
    if not path:
        return {}
    dns: Json = {"nameservers": [], "search": [], "options": []}
    with open(path) as file:  # noqa: PTH123 - pathlib is slow to load
        for line in file:
            words = line.split()
            if len(words) > 1 and words[0] == "nameserver":
                dns["nameservers"].append(words[1])
            elif len(words) > 1 and words[0] == "domain":
                dns["domain"] = words[1]
            elif len(words) > 1 and words[0] in ("search", "options"):
                dns[words[0]] += words[1:]
    return dns


def delete(call: Call) -> None:
    with _store(call) as store:
        store.release(call.container_id, call.ifname)


def check(call: Call) -> None:
    with _store(call) as store:
        if not store.of(call.container_id, call.ifname):
            raise CniError(
                cni.GENERIC,
                f"host-local: Failed to find address added by container {call.container_id}",
            )


def status(call: Call) -> None:
    parse_range_sets(call.conf)


VERBS: dict[str, skel.Verb] = {"ADD": add, "DEL": delete, "CHECK": check, "STATUS": status}


def main() -> int:
    return skel.main(VERBS)


if __name__ == "__main__":
    sys.exit(main())
