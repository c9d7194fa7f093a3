"""Which secrets a pod may name: a mirror pod none, others those of their account if it says so."""

from collections.abc import Iterator
from typing import Final

from winkube.apiserver.auth.references import SECRET, references_of
from winkube.base.types import JsonObject

MIRROR: Final = "kubernetes.io/config.mirror"
ENFORCED: Final = "kubernetes.io/enforce-mountable-secrets"
_TRUE: Final = ("1", "t", "T", "true", "TRUE", "True")


def mirror_problem(pod: JsonObject) -> str:
    """A mirror pod shows what runs already: nothing may be opened by naming it."""
    spec = pod.get("spec") or {}
    if spec.get("serviceAccountName"):
        return "a mirror pod may not reference service accounts"
    if any(plural == SECRET for plural, _ in references_of(pod)):
        return "a mirror pod may not reference secrets"
    for volume in spec.get("volumes") or ():
        sources = (volume.get("projected") or {}).get("sources") or ()
        if any(source.get("serviceAccountToken") is not None for source in sources):
            return "a mirror pod may not use ServiceAccountToken volume projections"
    return ""


def secret_problem(spec: JsonObject, account: JsonObject) -> str:
    """The first secret that the pod names and its account does not."""
    if not _is_enforced(account):
        return ""
    name, known = account["metadata"]["name"], _names(account.get("secrets"))
    reason = f"is not allowed because service account {name} does not reference that secret"
    for volume in spec.get("volumes") or ():
        secret = volume.get("secret")
        if secret is not None and secret.get("secretName") not in known:
            return f'volume with secret.secretName="{secret.get("secretName") or ""}" {reason}'
    for field, word in (("initContainers", "init container"), ("containers", "container")):
        for said, secret in _of_containers(spec, field, word):
            if secret not in known:
                return f'{said} referencing secret.secretName="{secret}" {reason}'
    pulls = _names(account.get("imagePullSecrets"))
    for index, entry in enumerate(spec.get("imagePullSecrets") or ()):
        if entry.get("name") not in pulls:
            return (
                f'imagePullSecrets[{index}].name="{entry.get("name") or ""}" is not allowed because'
                f" service account {name} does not reference that imagePullSecret"
            )
    return ""


def ephemeral_problem(spec: JsonObject, account: JsonObject) -> str:
    if not _is_enforced(account):
        return ""
    known = _names(account.get("secrets"))
    for said, secret in _of_containers(spec, "ephemeralContainers", "ephemeral container"):
        if secret not in known:
            return (
                f'{said} referencing secret.secretName="{secret}" is not allowed because service '
                f"account {account['metadata']['name']} does not reference that secret"
            )
    return ""


def _is_enforced(account: JsonObject) -> bool:
    notes = account["metadata"].get("annotations") or {}
    return notes.get(ENFORCED) in _TRUE


def _names(references: list[JsonObject] | None) -> set[str]:
    return {entry.get("name") or "" for entry in references or ()}


def _of_containers(spec: JsonObject, field: str, word: str) -> Iterator[tuple[str, str]]:
    """How each reference is spoken of, and the secret it names."""
    for container in spec.get(field) or ():
        who = f"{word} {container.get('name')}"
        for variable in container.get("env") or ():
            reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
            if reference is not None:
                yield f"{who} with envVar {variable.get('name')}", reference.get("name") or ""
        for source in container.get("envFrom") or ():
            if source.get("secretRef") is not None:
                yield f"{who} with envFrom", source["secretRef"].get("name") or ""
