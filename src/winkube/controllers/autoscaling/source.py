"""Where figures come from: the resource, custom and external metrics APIs, whoever serves them."""

from typing import Final
from urllib.parse import quote, urlencode

from winkube.api.errors import ApiError, NotFoundError
from winkube.api.quantity import to_milli
from winkube.api.selector.labels import selector_query
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.rest import ApiClient
from winkube.controllers.autoscaling.errors import MetricError, TargetError
from winkube.controllers.autoscaling.target import Targets, split_group
from winkube.controllers.autoscaling.usage import (
    Usage,
    container_usages,
    custom_usages,
    pod_usages,
)

_CUSTOM: Final = "custom.metrics.k8s.io"
_CUSTOM_VERSIONS: Final = ("v1beta2", "v1beta1")
_EXTERNAL: Final = "external.metrics.k8s.io"
# Upstream's client has its own words for servers that answer without a Status.
_GENERIC: Final = {
    404: "the server could not find the requested resource",
    503: "the server is currently unable to handle the request",
}


class MetricsSource:
    def __init__(self, client: ApiClient, targets: Targets) -> None:
        self._client = client
        self._targets = targets

    async def resource(
        self, namespace: str, selector: str, resource: str, container: str = ""
    ) -> dict[str, Usage]:
        path = f"/apis/metrics.k8s.io/v1beta1/namespaces/{quote(namespace)}/pods"
        try:
            items = await self._items(path, "pods.metrics.k8s.io", labelSelector=selector)
        except MetricError as error:
            raise MetricError(
                f"unable to fetch metrics from resource metrics API: {error}"
            ) from error
        if not items:
            raise MetricError("no metrics returned from resource metrics API")
        if container:
            return container_usages(items, resource, container)
        return pod_usages(items, resource)

    async def pods(
        self, namespace: str, selector: str, name: str, metric_selector: JsonObject | None
    ) -> dict[str, Usage]:
        place = f"namespaces/{quote(namespace)}/pods/*/{quote(name, safe='')}"
        items = await self._custom(
            place,
            f"pods.{_CUSTOM} *",
            labelSelector=selector,
            metricLabelSelector=selector_query(metric_selector),
        )
        if not items:
            raise MetricError("no metrics returned from custom metrics API")
        return custom_usages(items)

    async def object(
        self, namespace: str, reference: JsonObject, name: str, metric_selector: JsonObject | None
    ) -> int:
        metric = quote(name, safe="")
        kind, api_version = reference["kind"], reference.get("apiVersion", "")
        if kind == "Namespace" and not split_group(api_version):
            place, what = f"namespaces/{quote(namespace)}/metrics/{metric}", f"metrics.{_CUSTOM}"
        else:
            plural = await self._plural(api_version, kind)
            place = f"namespaces/{quote(namespace)}/{plural}/{quote(reference['name'])}/{metric}"
            what = f"{plural}.{_CUSTOM} {reference['name']}"
        items = await self._custom(place, what, metricLabelSelector=selector_query(metric_selector))
        if len(items) != 1:
            raise MetricError(
                "unable to fetch metrics from custom metrics API: the custom metrics API server "
                f"returned {len(items)} results when we asked for exactly one"
            )
        return to_milli(items[0]["value"])

    async def external(
        self, namespace: str, name: str, metric_selector: JsonObject | None
    ) -> list[int]:
        path = f"/apis/{_EXTERNAL}/v1beta1/namespaces/{quote(namespace)}/{quote(name, safe='')}"
        try:
            items = await self._items(
                path, f"{name}.{_EXTERNAL}", labelSelector=selector_query(metric_selector)
            )
        except MetricError as error:
            raise MetricError(
                f"unable to fetch metrics from external metrics API: {error}"
            ) from error
        if not items:
            raise MetricError("no metrics returned from external metrics API")
        return [to_milli(item["value"]) for item in items]

    async def _plural(self, api_version: str, kind: str) -> str:
        group = split_group(api_version)
        try:
            plural = (await self._targets.resources(api_version, kind))[0].plural
        except TargetError as error:
            named = f"{kind}.{group}" if group else kind
            raise MetricError(
                "unable to fetch metrics from custom metrics API: unable to map kind "
                f"{named} to resource: {error}"
            ) from error
        return f"{plural}.{group}" if group else plural

    async def _custom(self, place: str, what: str, **query: str) -> list[JsonObject]:
        try:
            version = await self._custom_version()
            return await self._items(f"/apis/{_CUSTOM}/{version}/{place}", what, **query)
        except MetricError as error:
            raise MetricError(
                f"unable to fetch metrics from custom metrics API: {error}"
            ) from error

    async def _custom_version(self) -> str:
        try:
            group = await self._client.get_path(f"/apis/{_CUSTOM}")
        except NotFoundError:
            raise MetricError(f"no custom metrics API ({_CUSTOM}) registered") from None
        except (ApiError, TransportError) as error:
            raise MetricError(str(error)) from error
        served = [entry["version"] for entry in group["versions"]]
        preferred = (group.get("preferredVersion") or {}).get("version", "")
        for version in (preferred, *served):
            if version in _CUSTOM_VERSIONS:
                return str(version)
        raise MetricError("no known available metric versions found")

    async def _items(self, path: str, what: str, **query: str) -> list[JsonObject]:
        present = {key: value for key, value in query.items() if value}
        url = f"{path}?{urlencode(present)}" if present else path
        try:
            return (await self._client.get_path(url)).get("items") or []
        except (ApiError, TransportError) as error:
            raise MetricError(_words(error, what)) from error


def _words(error: ApiError | TransportError, what: str) -> str:
    generic = _GENERIC.get(error.code) if isinstance(error, ApiError) else None
    if generic is None or (isinstance(error, ApiError) and error.details.get("name")):
        return str(error)
    return f"{generic} (get {what})"
