"""Who may approve and sign certificate requests, and what no client certificate may say.

Upstream's CertificateApproval, CertificateSigning and CertificateSubjectRestriction.
"""

from typing import Final

from winkube.api.certificate_request import CLIENT_SIGNER, GROUP, RequestError, parse_request
from winkube.api.errors import ForbiddenError
from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.auth.authz import Attributes, Authorizer
from winkube.apiserver.auth.user import MASTERS
from winkube.base.types import JsonObject

_PLURAL: Final = "certificatesigningrequests"


class Certificates:
    about: Final = (f"{_PLURAL}.{GROUP}",)

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def admit(self, request: Admission) -> None:
        kind = request.served.kind
        if (kind.group, kind.plural) != (GROUP, _PLURAL) or request.obj is None:
            return
        if request.operation == "CREATE" and not request.subresource:
            _check_subject(request, request.obj)
        elif request.subresource == "approval":
            self._require(request, "approve")
        elif request.subresource == "status" and _signs(request):
            self._require(request, "sign")

    def _require(self, request: Admission, verb: str) -> None:
        """The right to the signer itself, or to all signers of its domain."""
        signer = ((request.old or {}).get("spec") or {}).get("signerName") or ""
        domain = signer.partition("/")[0]
        for name in (signer, f"{domain}/*"):
            asked = Attributes(
                request.user, verb, group=GROUP, version="*", resource="signers", name=name
            )
            if self._authorizer.authorize(asked).allowed:
                return
        raise _refused(request, f'user not permitted to {verb} requests with signerName "{signer}"')


def _signs(request: Admission) -> bool:
    before, after = (request.old or {}).get("status") or {}, (request.obj or {}).get("status") or {}
    return any(
        (before.get(field) or None) != (after.get(field) or None)
        for field in ("certificate", "conditions")
    )


def _check_subject(request: Admission, obj: JsonObject) -> None:
    spec = obj.get("spec") or {}
    if spec.get("signerName") != CLIENT_SIGNER:
        return
    try:
        parsed = parse_request(spec.get("request") or "")
    except RequestError as error:
        raise _refused(request, f"failed to parse CSR: {error}") from error
    if MASTERS in parsed.organizations:
        text = f"use of {CLIENT_SIGNER} signer with {MASTERS} group is not allowed"
        raise _refused(request, text)


def _refused(request: Admission, cause: str) -> ForbiddenError:
    resource = f"{_PLURAL}.{GROUP}"
    return ForbiddenError(
        f'{resource} "{request.name}" is forbidden: {cause}',
        details={"name": request.name, "group": GROUP, "kind": _PLURAL},
    )
