"""Certificate signing requests: what may be asked for, and who may write which part of the answer.

Rules and words: k8s.io/kubernetes pkg/apis/certificates/validation/validation.go.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Final

from cryptography import x509

from winkube.api import names
from winkube.api.certificate_request import (
    APPROVED,
    DENIED,
    FAILED,
    LEGACY_SIGNER,
    RequestError,
    check_signature,
    parse_request,
)
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_USAGES: Final = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)
_SHORTEST: Final = 600
_MAX_DOMAIN: Final = 253
_MAX_SIGNER: Final = 253 + 1 + 253 + 63 + 1
_ONLY_TRUE: Final = (APPROVED, DENIED, FAILED)
_CONDITIONS: Final = "status.conditions"
_BLOCK: Final = re.compile(
    rb"-----BEGIN ([^-]*)-----\r?\n(.*?)-----END \1-----[ \t]*\r?\n?", re.DOTALL
)


def validate_signing_request(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    _check_request(spec.get("request") or "", problems)
    _check_usages(spec.get("usages") or [], problems)
    signer = spec.get("signerName") or ""
    if signer == LEGACY_SIGNER:
        text = "the legacy signerName is not allowed via this API version"
        problems.invalid("spec.signerName", signer, text)
    else:
        check_signer_name(signer, "spec.signerName", problems)
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _SHORTEST:
        text = "may not specify a duration less than 600 seconds (10 minutes)"
        problems.invalid("spec.expirationSeconds", seconds, text)
    _check_conditions(_conditions(obj), problems)
    _check_certificate(_certificate(obj), problems)


def _check_request(text: str, problems: Problems) -> None:
    try:
        check_signature(parse_request(text))
    except RequestError as error:
        problems.invalid("spec.request", text, str(error))


def _check_usages(usages: list[str], problems: Problems) -> None:
    if not usages:
        problems.required("spec.usages")
    for index, usage in enumerate(usages):
        if usage not in _USAGES:
            problems.unsupported(f"spec.usages[{index}]", usage, _USAGES)
    for index, usage in enumerate(usages):
        if usage in usages[:index]:
            problems.duplicate(f"spec.usages[{index}]", usage)


def check_signer_name(name: str, path: str, problems: Problems) -> None:
    """``example.com/signer-name``."""
    if not name:
        problems.required(path)
        return
    domain, slash, tail = name.partition("/")
    if not slash or "/" in tail:
        text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        problems.invalid(path, name, text)
        return
    if len(domain) > _MAX_DOMAIN:
        problems.too_long(path, _MAX_DOMAIN)
    labels = domain.split(".")
    wrong = next((label for label in labels if names.dns_label_problems(label)), None)
    if wrong is not None:
        for problem in names.dns_label_problems(wrong):
            problems.invalid(path, domain, f'validating label "{wrong}": {problem}')
    if len(labels) < 2:
        text = "should be a domain with at least two segments separated by dots"
        problems.invalid(path, domain, text)
    wrong = next((part for part in tail.split(".") if names.dns_subdomain_problems(part)), None)
    if wrong is not None:
        for problem in names.dns_subdomain_problems(wrong):
            problems.invalid(path, tail, f'validating label "{wrong}": {problem}')
    if len(name) > _MAX_SIGNER:
        problems.too_long(path, _MAX_SIGNER)


def _check_conditions(conditions: list[JsonObject], problems: Problems) -> None:
    seen: list[str] = []
    for index, condition in enumerate(conditions):
        path, kind = f"{_CONDITIONS}[{index}]", condition.get("type") or ""
        if not kind:
            problems.required(f"{path}.type")
        allowed = ("True",) if kind in _ONLY_TRUE else ("False", "True", "Unknown")
        status = condition.get("status") or ""
        if not status:
            problems.required(f"{path}.status")
        elif status not in allowed:
            problems.unsupported(f"{path}.status", status, allowed)
        opposite = {APPROVED: DENIED, DENIED: APPROVED}.get(kind)
        if opposite in seen:
            text = "Approved and Denied conditions are mutually exclusive"
            problems.invalid(_CONDITIONS, kind, text)
        if kind in seen:
            problems.duplicate(f"{path}.type", kind)
        seen.append(kind)


def _check_certificate(text: str, problems: Problems) -> None:
    if not text:
        return
    problem = _certificate_problem(text)
    if problem:
        problems.invalid("status.certificate", "<certificate data>", problem)


def _certificate_problem(text: str) -> str:
    try:
        blocks = list(_BLOCK.finditer(base64.b64decode(text, validate=True)))
    except binascii.Error as error:
        return str(error)
    for block in blocks:
        if block[1] != b"CERTIFICATE":
            return f'only CERTIFICATE PEM blocks are allowed, found "{block[1].decode()}"'
        if b":" in block[2]:
            return "no PEM block headers are permitted"
        try:
            x509.load_pem_x509_certificate(block[0])
        except ValueError as error:
            return str(error)
    return "" if blocks else "must contain at least one CERTIFICATE PEM block"


def validate_signing_request_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    _check_change(new, old, problems)


def validate_signing_request_status(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    _check_change(new, old, problems, part="status")


def validate_signing_request_approval(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    _check_change(new, old, problems, part="approval")


def _check_change(new: JsonObject, old: JsonObject, problems: Problems, *, part: str = "") -> None:
    for kind, before, after in _of_type(new, old):
        if len(after) < len(before):
            text = f'updates may not remove a condition of type "{kind}"'
            problems.forbidden(_CONDITIONS, text)
    for kind, before, after in _of_type(new, old):
        if part == "approval" or kind == FAILED or len(after) < len(before):
            continue
        if len(after) > len(before):
            problems.forbidden(_CONDITIONS, f'updates may not add a condition of type "{kind}"')
        elif after != before:
            text = f'updates may not modify a condition of type "{kind}"'
            problems.forbidden(_CONDITIONS, text)
    before_text, after_text = _certificate(old), _certificate(new)
    if before_text != after_text:
        if part != "status":
            problems.forbidden("status.certificate", "updates may not set certificate content")
        elif before_text:
            text = "updates may not modify existing certificate content"
            problems.forbidden("status.certificate", text)


def _of_type(
    new: JsonObject, old: JsonObject
) -> Iterator[tuple[str, list[JsonObject], list[JsonObject]]]:
    for kind in _ONLY_TRUE:
        before = [each for each in _conditions(old) if each.get("type") == kind]
        after = [each for each in _conditions(new) if each.get("type") == kind]
        yield kind, before, after


def _conditions(obj: JsonObject) -> list[JsonObject]:
    return (obj.get("status") or {}).get("conditions") or []


def _certificate(obj: JsonObject) -> str:
    return (obj.get("status") or {}).get("certificate") or ""
