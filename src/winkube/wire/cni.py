"""The CNI contract: configuration, result, error, by version of the specification.

Imported by the plugin programs on every pod start, so: standard library, and little of it.
Results are kept in the 1.0.0 form and converted once, when they are printed.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from winkube.base.errors import WinkubeError

Json = dict[str, Any]
VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")
CURRENT = VERSIONS[-1]
INCOMPATIBLE_VERSION, UNSUPPORTED_FIELD, UNKNOWN_CONTAINER = 1, 2, 3
INVALID_ENVIRONMENT, IO_FAILURE, DECODING_FAILURE, INVALID_CONFIG = 4, 5, 6, 7
TRY_AGAIN, PLUGIN_NOT_AVAILABLE, GENERIC = 11, 50, 999


class CniError(WinkubeError):
    """A failure as a plugin reports it to its runtime."""

    def __init__(self, code: int, message: str, details: str = "") -> None:
        super().__init__(f"{message}; {details}" if details else message)
        self.code, self.message, self.details = code, message, details


def to_error(error: CniError, version: str) -> Json:
    document: Json = {"cniVersion": version, "code": error.code, "msg": error.message}
    if error.details:
        document["details"] = error.details
    return document


def parse_error(document: Mapping[str, Any]) -> CniError:
    code, message = document.get("code", GENERIC), document.get("msg", "unknown error")
    return CniError(int(code), str(message), str(document.get("details", "")))


def fold(document: object, keys: Iterable[str]) -> Json:
    """Bind keys without regard to case, as Go's decoder does for the plugins' own fields."""
    if not isinstance(document, Mapping):
        raise CniError(DECODING_FAILURE, "expected a JSON object in the configuration")
    spelling = {key.lower(): key for key in keys}
    return {spelling.get(str(k).lower(), str(k)): v for k, v in document.items() if v is not None}


def is_at_least(version: str, floor: str) -> bool:
    return VERSIONS.index(version) >= VERSIONS.index(floor)


def to_result(result: Json, version: str) -> Json:
    """Render a 1.0.0 result in the version the configuration asks for."""
    dns = {key: value for key, value in (result.get("dns") or {}).items() if value}
    if not is_at_least(version, "0.3.0"):
        return _to_0_2(result, version, dns)
    ips = [dict(row) for row in result.get("ips", [])]
    if not is_at_least(version, "1.0.0"):
        ips = [{"version": "6" if ":" in row["address"] else "4", **row} for row in ips]
    document: Json = {"cniVersion": version}
    for key, value in (("interfaces", result.get("interfaces")), ("ips", ips)):
        if value:
            document[key] = value
    if result.get("routes"):
        document["routes"] = result["routes"]
    document["dns"] = dns
    return document


def _to_0_2(result: Json, version: str, dns: Json) -> Json:
    document: Json = {"cniVersion": version}
    for row in result.get("ips", []):
        family = "ip6" if ":" in row["address"] else "ip4"
        if family in document:
            continue
        entry: Json = {"ip": row["address"]}
        if row.get("gateway"):
            entry["gateway"] = row["gateway"]
        routes = [r for r in result.get("routes", []) if (":" in r["dst"]) == (family == "ip6")]
        if routes:
            entry["routes"] = routes
        document[family] = entry
    document["dns"] = dns
    return document


def from_result(document: Json) -> Json:
    """Read a result of any version (of a delegated plugin) into the 1.0.0 form."""
    if "ip4" in document or "ip6" in document:
        rows = [document[family] for family in ("ip4", "ip6") if document.get(family)]
        ips = [
            {k: v for k, v in (("address", r["ip"]), ("gateway", r.get("gateway"))) if v}
            for r in rows
        ]
        routes = [route for row in rows for route in row.get("routes") or []]
    else:
        ips = [{k: v for k, v in row.items() if k != "version"} for row in document.get("ips", [])]
        routes = document.get("routes") or []
    return {"ips": ips, "routes": routes, "dns": document.get("dns") or {}}
