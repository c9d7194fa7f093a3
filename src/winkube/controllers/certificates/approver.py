"""Approve the client certificates of kubelets, when who asks may have them without being asked.

Whether they may is a right in RBAC (a SubjectAccessReview), so an administrator decides it.
"""

import logging
from typing import Final

from winkube.api.certificate_request import (
    APPROVED,
    DENIED,
    GROUP,
    KUBELET_CLIENT_SIGNER,
    has_condition,
    is_kubelet_client,
    parse_request,
)
from winkube.api.meta import name_of
from winkube.base.types import JsonObject
from winkube.client.resource import CERTIFICATESIGNINGREQUESTS, SUBJECTACCESSREVIEWS
from winkube.controllers.certificates.request import RequestController

log = logging.getLogger(__name__)

# (the right, what approval says); the first is only for who asks for itself.
_SELF: Final = (
    "selfnodeclient",
    "Auto approving self kubelet client certificate after SubjectAccessReview.",
)
_ANY: Final = (
    "nodeclient",
    "Auto approving kubelet client certificate after SubjectAccessReview.",
)


def plan_rights(obj: JsonObject) -> list[tuple[str, str]]:
    """Which rights would let this request pass; none when it is not a kubelet's."""
    spec, status = obj["spec"], obj.get("status") or {}
    decided = has_condition(obj, APPROVED) or has_condition(obj, DENIED)
    if decided or status.get("certificate") or spec["signerName"] != KUBELET_CLIENT_SIGNER:
        return []
    request = parse_request(spec["request"])
    if not is_kubelet_client(request, spec.get("usages") or []):
        return []
    own = spec.get("username") == request.common_name
    return [_SELF, _ANY] if own else [_ANY]


class CertificateApprover(RequestController):
    name = "certificatesigningrequest-approving-controller"

    async def consider(self, key: str, obj: JsonObject) -> None:
        rights = plan_rights(obj)
        for right, message in rights:
            if await self._may(obj["spec"], right):
                await self._approve(obj, message)
                return
        if rights:
            log.debug("a kubelet's request waits for approval", extra={"request": name_of(obj)})

    async def _may(self, spec: JsonObject, right: str) -> bool:
        attributes = {
            "group": GROUP,
            "version": "*",
            "resource": "certificatesigningrequests",
            "subresource": right,
            "verb": "create",
        }
        asked = {"user": spec.get("username", ""), "resourceAttributes": attributes}
        for field in ("uid", "groups", "extra"):
            if spec.get(field):
                asked[field] = spec[field]
        review = await self.client.create(
            SUBJECTACCESSREVIEWS,
            {
                "apiVersion": SUBJECTACCESSREVIEWS.api_version,
                "kind": "SubjectAccessReview",
                "spec": asked,
            },
        )
        return bool((review.get("status") or {}).get("allowed"))

    async def _approve(self, obj: JsonObject, message: str) -> None:
        status = obj.get("status") or {}
        condition = {
            "type": APPROVED,
            "status": "True",
            "reason": "AutoApproved",
            "message": message,
        }
        conditions = [*status.get("conditions", ()), condition]
        fresh = {**obj, "status": {**status, "conditions": conditions}}
        await self.client.update(CERTIFICATESIGNINGREQUESTS, fresh, subresource="approval")
