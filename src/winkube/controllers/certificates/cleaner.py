"""Remove certificate requests that are done with.

Issued, denied or failed an hour ago, waiting for a day, or with a certificate that has expired.
"""

import base64
import binascii
from typing import Final

from cryptography import x509

from winkube.api.certificate_request import APPROVED, DENIED, FAILED
from winkube.api.meta import conditions_of
from winkube.base.clock import parse_rfc3339
from winkube.base.types import JsonObject
from winkube.client.resource import CERTIFICATESIGNINGREQUESTS
from winkube.controllers.certificates.request import RequestController

_DECIDED_SECONDS: Final = 3600.0
_PENDING_SECONDS: Final = 24 * 3600.0


def plan_removal(obj: JsonObject) -> float | None:
    """When this request has to go; None: not for what is known now."""
    conditions = conditions_of(obj)
    if not conditions:
        return parse_rfc3339(obj["metadata"]["creationTimestamp"]) + _PENDING_SECONDS
    certificate = (obj.get("status") or {}).get("certificate") or ""
    times: list[float] = []
    for condition in conditions:
        kind, since = condition.get("type"), condition.get("lastUpdateTime")
        done = kind in (DENIED, FAILED) or (kind == APPROVED and certificate)
        if done and since:
            times.append(parse_rfc3339(since) + _DECIDED_SECONDS)
        if kind == APPROVED and certificate:
            times.extend(_expiry(certificate))
    return min(times, default=None)


def _expiry(text: str) -> list[float]:
    try:
        certificate = x509.load_pem_x509_certificate(base64.b64decode(text))
    except (ValueError, binascii.Error):
        return []
    return [certificate.not_valid_after_utc.timestamp()]


class CertificateCleaner(RequestController):
    name = "certificatesigningrequest-cleaner-controller"

    async def consider(self, key: str, obj: JsonObject) -> None:
        due = plan_removal(obj)
        if due is None:
            return
        wait = due - self.clock.now()
        if wait > 0:
            self.queue.add_after(key, wait)
        else:
            await self.remove(CERTIFICATESIGNINGREQUESTS, obj)
