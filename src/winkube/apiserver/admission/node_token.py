"""Which tokens a kubelet may ask for: of its own pods, bound to them, for whom those say.

A pod names the audiences of its tokens in its projected volumes; the CSI drivers of its volumes
name theirs. A token for another audience would open what the pod was never meant to reach; a role
may allow a node more (k8s.io/kubernetes: plugin/pkg/admission/noderestriction).
"""

from collections.abc import Iterator
from typing import Final

from winkube.api.errors import ForbiddenError
from winkube.apiserver.auth.authz import Attributes, Authorizer
from winkube.apiserver.auth.references import CLAIM
from winkube.apiserver.auth.user import User, node_of
from winkube.apiserver.served import Resources, Served
from winkube.base.types import JsonObject

_VERB: Final = "request-serviceaccounts-token-audience"


class NodeTokens:
    def __init__(self, resources: Resources, authorizer: Authorizer) -> None:
        self._pods = resources.core("pods")
        self._claims = resources.core(CLAIM)
        self._volumes = resources.core("persistentvolumes")
        self._drivers = resources.find("storage.k8s.io", "v1", "csidrivers")
        self._authorizer = authorizer

    def check(self, user: User, place: tuple[str, str], spec: JsonObject) -> None:
        """``place`` is the account's; whoever is no kubelet is not looked at."""
        node = node_of(user)
        if not node:
            return
        namespace, account = place
        ref = spec.get("boundObjectRef") or {}
        if (ref.get("apiVersion"), ref.get("kind")) != ("v1", "Pod") or not ref.get("name"):
            raise _refused(account, "node requested token not bound to a pod")
        if not ref.get("uid"):
            raise _refused(account, "node requested token with a pod binding without a uid")
        pod = _load(self._pods, namespace, str(ref["name"]))
        # Which of the two is wrong is not for a node to learn of others' pods.
        if pod is None or _uid(pod) != ref["uid"] or pod["spec"].get("nodeName") != node:
            cause = "node requested token bound to a pod scheduled on a different node"
            raise _refused(account, cause)
        self._check_audience(user, place, spec.get("audiences") or [], pod)

    def _check_audience(
        self, user: User, place: tuple[str, str], audiences: list[str], pod: JsonObject
    ) -> None:
        namespace, account = place
        if len(audiences) > 1:
            raise _refused(account, "node may only request 0 or 1 audiences")
        audience = audiences[0] if audiences else ""
        if audience in self._audiences(pod, namespace):
            return
        asked = Attributes(
            user, _VERB, version="v1", resource=audience, namespace=namespace, name=account
        )
        if not self._authorizer.authorize(asked).allowed:
            raise _refused(
                account,
                f'audience "{audience}" not found in pod spec volume, {user.name} is not '
                "authorized to request tokens for this audience",
            )

    def _audiences(self, pod: JsonObject, namespace: str) -> Iterator[str]:
        for volume in pod["spec"].get("volumes") or ():
            for source in (volume.get("projected") or {}).get("sources") or ():
                if "serviceAccountToken" in source:
                    yield (source["serviceAccountToken"] or {}).get("audience") or ""
            driver = self._driver(volume, namespace, pod["metadata"]["name"])
            found = _load(self._drivers, "", driver) if driver and self._drivers else None
            for request in ((found or {}).get("spec") or {}).get("tokenRequests") or ():
                yield request.get("audience") or ""

    def _driver(self, volume: JsonObject, namespace: str, pod: str) -> str:
        """The CSI driver behind a pod's volume, if there is one."""
        if "csi" in volume:
            return str(volume["csi"].get("driver") or "")
        name = (volume.get("persistentVolumeClaim") or {}).get("claimName") or ""
        if "ephemeral" in volume:
            name = f"{pod}-{volume['name']}"
        claim = _load(self._claims, namespace, name) if name else None
        bound = ((claim or {}).get("spec") or {}).get("volumeName")
        found = _load(self._volumes, "", bound) if bound else None
        return str((((found or {}).get("spec") or {}).get("csi") or {}).get("driver") or "")


def _load(served: Served, namespace: str, name: str) -> JsonObject | None:
    item = served.cache.get(served.key(namespace, name))
    return None if item is None else item.load()


def _uid(obj: JsonObject) -> str:
    return str(obj["metadata"]["uid"])


def _refused(account: str, cause: str) -> ForbiddenError:
    return ForbiddenError(
        f'serviceaccounts "{account}" is forbidden: {cause}',
        details={"name": account, "kind": "serviceaccounts"},
    )
