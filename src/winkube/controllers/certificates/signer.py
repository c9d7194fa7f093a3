"""Sign what has been approved for Kubernetes' own signers; others' requests are left alone."""

import base64

from winkube.api.certificate_request import (
    APPROVED,
    DENIED,
    FAILED,
    SIGNERS,
    RefusedError,
    parse_request,
)
from winkube.api.certificate_request import has_condition as has
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.resource import CERTIFICATESIGNINGREQUESTS
from winkube.controllers.certificates.authority import SigningAuthority
from winkube.controllers.certificates.request import RequestController


class CertificateSigner(RequestController):
    name = "certificatesigningrequest-signing-controller"

    async def consider(self, key: str, obj: JsonObject) -> None:
        config = self.context.config
        if config.signing_cert is None or config.signing_key is None:
            return
        check = SIGNERS.get(obj["spec"]["signerName"])
        if check is None or not has(obj, APPROVED) or has(obj, DENIED) or has(obj, FAILED):
            return
        if (obj.get("status") or {}).get("certificate"):
            return
        request, usages = parse_request(obj["spec"]["request"]), obj["spec"].get("usages") or []
        try:
            check(request, usages)
        except RefusedError as refused:
            await self._fail(obj, str(refused))
            return
        # Read each time: who replaces the CA need not restart us.
        authority = SigningAuthority.load(config.signing_cert, config.signing_key)
        seconds = obj["spec"].get("expirationSeconds")
        certificate = authority.sign(request, usages, seconds, self.clock.now())
        await self._write(obj, {"certificate": base64.b64encode(certificate).decode()})

    async def _fail(self, obj: JsonObject, message: str) -> None:
        condition = {
            "type": FAILED,
            "status": "True",
            "reason": "SignerValidationFailure",
            "message": message,
            "lastUpdateTime": to_rfc3339(self.clock.now()),
        }
        conditions = [*(obj.get("status") or {}).get("conditions", ()), condition]
        await self._write(obj, {"conditions": conditions})

    async def _write(self, obj: JsonObject, change: JsonObject) -> None:
        fresh = {**obj, "status": {**(obj.get("status") or {}), **change}}
        await self.client.update(CERTIFICATESIGNINGREQUESTS, fresh, subresource="status")
