"""Pods run as a service account and, unless it is switched off, get its token in a volume."""

import asyncio
import functools
import hashlib
from collections.abc import Hashable
from typing import ClassVar, Final

from winkube.api.decode import clone
from winkube.api.go.text import quoted
from winkube.api.names import path_segment_problems
from winkube.apiserver.admission.chain import Admission
from winkube.apiserver.admission.mountable_secrets import (
    ENFORCED,
    MIRROR,
    ephemeral_problem,
    mirror_problem,
    secret_problem,
)
from winkube.apiserver.auth.user import User
from winkube.apiserver.item import Item
from winkube.apiserver.served import Resources
from winkube.base.ids import SUFFIX_ALPHABET
from winkube.base.types import JsonObject

MOUNT: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_DEFAULT: Final = "default"
_VOLUME: Final = "kube-api-access-"
_ENFORCED: Final = ENFORCED.encode()
# The default account is made by a controller right after its namespace: wait for it a little.
_ATTEMPTS: Final = 10
_WAIT: Final = 0.1
# One hour, and 7 seconds that tell our tokens from those users ask for (upstream's choice).
_TOKEN_SECONDS: Final = 3607


class ServiceAccount:
    about: ClassVar = frozenset({"pods"})

    def __init__(self, resources: Resources) -> None:
        self._accounts = resources.core("serviceaccounts")

    def sees(self, namespace: str, pod: JsonObject, user: User) -> Hashable | None:
        spec = pod.get("spec") or {}
        # The second is its name of old, which clients may still use instead.
        name = spec.get("serviceAccountName") or spec.get("serviceAccount") or _DEFAULT
        item = self._accounts.cache.get(self._accounts.key(namespace, name))
        return None if item is None else item.revision

    async def admit(self, request: Admission) -> None:
        if request.operation != "CREATE" or not request.is_for("pods") or request.obj is None:
            return
        pod = request.obj
        if MIRROR in (pod["metadata"].get("annotations") or {}):
            _refuse(request, mirror_problem(pod))
            return
        spec = pod.setdefault("spec", {})
        name = spec.get("serviceAccountName") or _DEFAULT
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        account = _read(await self._account(request, name))
        if _mounts_token(spec, account):
            mount_token(spec, account["metadata"].get("uid") or name)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = clone(account["imagePullSecrets"])
        _refuse(request, secret_problem(spec, account))

    async def validate(self, request: Admission) -> None:
        """Once more, after webhooks; and containers that are added to debug."""
        if request.obj is None or request.subresource not in ("", "ephemeralcontainers"):
            return
        pod, created = request.obj, request.operation == "CREATE"
        if created and MIRROR in (pod["metadata"].get("annotations") or {}):
            _refuse(request, mirror_problem(pod))
        elif created or (request.operation == "UPDATE" and request.subresource):
            spec = pod["spec"]
            if not spec.get("serviceAccountName"):
                name = f"{request.namespace}/{request.shown_name}"
                _refuse(request, f"no service account specified for pod {name}")
            account = await self._account(request, spec["serviceAccountName"])
            # The text of nearly all accounts tells that they do not ask for it.
            if _ENFORCED in account.data:
                check = secret_problem if created else ephemeral_problem
                _refuse(request, check(spec, account.load()))

    async def _account(self, request: Admission, name: str) -> Item:
        key = self._accounts.key(request.namespace, name)
        for attempt in range(_ATTEMPTS if name == _DEFAULT else 1):
            if attempt:
                await asyncio.sleep(_WAIT)
            item = self._accounts.cache.get(key)
            if item is not None:
                return item
        raise request.forbidden(
            f"error looking up service account {request.namespace}/{name}: {_lookup_fault(name)}"
        )


def _lookup_fault(name: str) -> str:
    problems = path_segment_problems(name)
    if problems:
        return f"invalid resource name {quoted(name)}: [{' '.join(problems)}]"
    return f'serviceaccount "{name}" not found'


def _refuse(request: Admission, problem: str) -> None:
    if problem:
        raise request.forbidden(problem)


@functools.lru_cache(maxsize=256)
def _read(item: Item) -> JsonObject:
    """Only looked at: many pods have the same account."""
    return item.load()


def _mounts_token(spec: JsonObject, account: JsonObject) -> bool:
    for source in (spec, account):
        wanted = source.get("automountServiceAccountToken")
        if wanted is not None:
            return bool(wanted)
    return True


def mount_token(spec: JsonObject, account: str) -> None:
    """The volume is named after the account: pods of one template stay alike."""
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    without = [
        container
        for container in containers
        if not any(m.get("mountPath") == MOUNT for m in container.get("volumeMounts") or ())
    ]
    if not without:
        return
    known = (volume.get("name") or "" for volume in spec.get("volumes") or ())
    name = next((name for name in known if name.startswith(_VOLUME)), None)
    if name is None:
        name = f"{_VOLUME}{_suffix(account)}"
        spec["volumes"] = [*(spec.get("volumes") or ()), _token_volume(name)]
    for container in without:
        mount = {"name": name, "readOnly": True, "mountPath": MOUNT}
        container.setdefault("volumeMounts", []).append(mount)


@functools.lru_cache(maxsize=1024)
def _suffix(account: str) -> str:
    digest = hashlib.sha256(account.encode()).digest()
    return "".join(SUFFIX_ALPHABET[byte % len(SUFFIX_ALPHABET)] for byte in digest[:5])


def _token_volume(name: str) -> JsonObject:
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    return {
        "name": name,
        "projected": {
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
                {
                    "configMap": {
                        "name": "kube-root-ca.crt",
                        "items": [{"key": "ca.crt", "path": "ca.crt"}],
                    }
                },
                {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
            ],
            "defaultMode": 420,
        },
    }
