"""How a client speaks to the service: shared by the plain and the asyncio client.

Standard library only, and little of it: the CNI programs import this on every pod start.
"""

import json
from typing import Any, Final

from winkube.hns.errors import HnsError, parse_result

Json = dict[str, Any]
_SCHEMA: Final = {"Major": 2, "Minor": 0}
# Names of the Windows calls, which error texts begin with.
_CALLS: Final = {
    "enumerate": "hcnEnumerate{}s",
    "list": "hcnEnumerate{}s",
    "create": "hcnCreate{}",
    "query": "hcnOpen{}",
    "modify": "hcnModify{}",
    "delete": "hcnDelete{}",
    "stats": "hcnQuery{}Stats",
}


def query_body(filters: Json | None) -> Json:
    query: Json = {"SchemaVersion": _SCHEMA}
    if filters:
        query["Filter"] = json.dumps(filters)
    return query


def create_body(document: Json, guid: str | None) -> Json:
    return {"Id": guid, "Settings": document}


def parse_v2(kind: str, verb: str, status: int, raw: bytes) -> Any:
    text = raw.decode()
    answer = json.loads(text) if text else None
    if status < 400:
        return answer
    raise parse_result(_CALLS[verb].format(kind), answer or {}, text)


def parse_v1(raw: bytes) -> Any:
    """HNSCall answers ``{Success, Error, Output}``, whatever happened."""
    text = raw.decode()
    answer = json.loads(text)
    if answer["Success"]:
        return answer.get("Output")
    error = parse_result("hnsCall", answer, "")
    raise HnsError(error.code, f"hns failed with error : {error}".rstrip())
