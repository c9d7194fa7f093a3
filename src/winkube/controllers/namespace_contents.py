"""What every namespace has from the start: the default service account and the cluster's CA."""

from typing import Final

from winkube.api.errors import AlreadyExistsError, ForbiddenError, NotFoundError
from winkube.api.meta import is_deleting, namespace_of
from winkube.base.types import JsonObject
from winkube.client.informer import Informer
from winkube.client.resource import CONFIGMAPS, NAMESPACES, SERVICEACCOUNTS, Resource
from winkube.controllers.controller import Context, Controller
from winkube.controllers.namespace_flow import NamespaceFlows

ROOT_CA: Final = "kube-root-ca.crt"
DEFAULT_ACCOUNT: Final = "default"
# Upstream's words, which people search for (kubernetes: rootcacertpublisher).
DESCRIPTION: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
    "guaranteed across distributions of Kubernetes clusters."
)


class NamespaceContentsController(Controller):
    name = "namespace-contents-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._namespaces = self.informer(NAMESPACES)
        self._flows = NamespaceFlows(self._namespaces, "creationTimestamp")
        self.follow(NAMESPACES)
        self._accounts = self._follow_named(SERVICEACCOUNTS, DEFAULT_ACCOUNT)
        self._maps = self._follow_named(CONFIGMAPS, ROOT_CA)

    def flow_of(self, key: str) -> str:
        return self._flows.of(key)

    def _follow_named(self, resource: Resource, name: str) -> Informer:
        informer = self.informer(resource)

        def changed(key: str, old: JsonObject | None, new: JsonObject | None) -> None:
            if key.endswith(f"/{name}"):
                self.queue.add(namespace_of(new or old or {}))

        informer.on_change(changed)
        return informer

    async def reconcile(self, key: str) -> None:
        namespace = self._namespaces.get(key)
        if namespace is None or is_deleting(namespace):
            return
        if self._accounts.get(f"{key}/{DEFAULT_ACCOUNT}") is None:
            account = {"apiVersion": "v1", "kind": "ServiceAccount",
                       "metadata": {"name": DEFAULT_ACCOUNT, "namespace": key}}  # fmt: skip
            await self._create(SERVICEACCOUNTS, account)
        if self.context.config.root_ca:
            await self._publish_ca(key)

    async def _publish_ca(self, namespace: str) -> None:
        data = {"ca.crt": self.context.config.root_ca.decode()}
        found = self._maps.get(f"{namespace}/{ROOT_CA}")
        if found is None:
            metadata = {
                "name": ROOT_CA,
                "namespace": namespace,
                "annotations": {"kubernetes.io/description": DESCRIPTION},
            }
            document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
            await self._create(CONFIGMAPS, {**document, "data": data})
        elif found.get("data") != data:
            await self.client.update(CONFIGMAPS, {**found, "data": data})

    async def _create(self, resource: Resource, obj: JsonObject) -> None:
        try:
            await self.client.create(resource, obj)
        except (AlreadyExistsError, NotFoundError, ForbiddenError):
            # It is there already, or the namespace is on its way out.
            return
