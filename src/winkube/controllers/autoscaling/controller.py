"""HorizontalPodAutoscalers: the target's size follows its metrics.

An autoscaler is looked at once per period, the first time one period after it appeared: its pods
have figures by then.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field

from winkube.api.errors import ApiError, BadRequestError, ConflictError, NotFoundError
from winkube.api.meta import key_of, name_of, namespace_of
from winkube.api.quantity import parse_quantity
from winkube.api.selector.labels import LabelSelector, parse_label_selector
from winkube.base.clock import to_rfc3339
from winkube.base.types import JsonObject
from winkube.client.errors import TransportError
from winkube.client.resource import HORIZONTALPODAUTOSCALERS, PODS, Resource
from winkube.controllers.autoscaling.behavior import History, Wish, normalize
from winkube.controllers.autoscaling.claims import Claims
from winkube.controllers.autoscaling.errors import MetricError, TargetError
from winkube.controllers.autoscaling.proposal import Proposals, Query, propose_all
from winkube.controllers.autoscaling.replicas import Situation, Timing, Tolerances
from winkube.controllers.autoscaling.source import MetricsSource
from winkube.controllers.autoscaling.status import Status
from winkube.controllers.autoscaling.target import Targets
from winkube.controllers.controller import Context, Controller
from winkube.controllers.indexes import add_label_index, selected

_ABLE, _ACTIVE, _LIMITED = "AbleToScale", "ScalingActive", "ScalingLimited"
_ATTEMPTS = 5


@dataclass(slots=True)
class _Decision:
    desired: int
    rescale: bool = True
    reason: str = ""
    metrics: list[JsonObject] = field(default_factory=list)


class HorizontalPodAutoscalerController(Controller):
    name = "horizontal-pod-autoscaler-controller"
    event_source = "horizontal-pod-autoscaler"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._autoscalers = self.informer(HORIZONTALPODAUTOSCALERS)
        self._autoscalers.on_change(self._changed)
        self._pods = self.informer(PODS)
        add_label_index(self._pods)
        self._targets = Targets(self.client)
        self._source = MetricsSource(self.client, self._targets)
        self._histories: dict[str, History] = {}
        self._claims = Claims()

    def _changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        self.queue.add_after(key, 0.0 if new is None else self.context.config.autoscaler_period)

    async def reconcile(self, key: str) -> None:
        autoscaler = self._autoscalers.get(key)
        if autoscaler is None:
            self._histories.pop(key, None)
            self._claims.forget(key)
            return
        try:
            await self._scale(copy.deepcopy(autoscaler))
        finally:
            self.queue.add_after(key, self.context.config.autoscaler_period)

    async def _scale(self, autoscaler: JsonObject) -> None:
        status = Status(autoscaler, to_rfc3339(self.clock.now()))
        reference = autoscaler["spec"]["scaleTargetRef"]
        try:
            target = await self._targets.scale(reference, namespace_of(autoscaler))
        except TargetError as error:
            self.event(autoscaler, "Warning", "FailedGetScale", str(error))
            status.condition(
                _ABLE,
                "False",
                "FailedGetScale",
                f"the HPA controller was unable to get the target's current scale: {error}",
            )
            await self._write(status)
            return
        status.condition(
            _ABLE,
            "True",
            "SucceededGetScale",
            "the HPA controller was able to get the target's current scale",
        )
        current = _replicas(target[1], "spec")
        self._history(autoscaler).begin(current, self.clock.now())
        decision = await self._decide(status, target[1])
        if decision is None:
            return
        if decision.rescale:
            failure = await self._rescale(autoscaler, target, decision)
            if failure is not None:
                self._tell_failure(status, decision, failure)
                status.sizes(current, None, decision.metrics)
                await self._write(status)
                return
            self._tell_success(status, decision, current)
        desired = decision.desired if decision.rescale else current
        status.sizes(current, desired, decision.metrics, scaled=decision.rescale)
        await self._write(status)

    def _history(self, autoscaler: JsonObject) -> History:
        return self._histories.setdefault(key_of(autoscaler), History())

    async def _decide(self, status: Status, scale: JsonObject) -> _Decision | None:
        """What to do; None when that could not be said, and the status says so already."""
        spec = status.obj["spec"]
        current, high = _replicas(scale, "spec"), spec["maxReplicas"]
        low = 1 if spec.get("minReplicas") is None else spec["minReplicas"]
        if current == 0 and low != 0:
            status.condition(
                _ACTIVE,
                "False",
                "ScalingDisabled",
                "scaling is disabled since the replica count of the target is zero",
            )
            return _Decision(0, rescale=False)
        if current > high:
            return _Decision(high, reason="Current number of replicas above Spec.MaxReplicas")
        if current < low:
            return _Decision(low, reason="Current number of replicas below Spec.MinReplicas")
        try:
            proposals = await self._propose(status, scale)
        except MetricError as error:
            await self._give_up(status, current, [], str(error))
            return None
        for failure in proposals.failures:
            self.event(status.obj, "Warning", failure.reason, failure.inner)
        if proposals.replicas is None:
            first = proposals.failures[0]
            status.condition(
                _ACTIVE,
                "False",
                first.reason,
                f"the HPA was unable to compute the replica count: {first.inner}",
            )
            await self._give_up(status, current, list(proposals.statuses), proposals.error)
            return None
        return self._normalized(status, proposals, Wish(current, proposals.replicas, low, high))

    def _normalized(self, status: Status, proposals: Proposals, wish: Wish) -> _Decision:
        status.condition(
            _ACTIVE,
            "True",
            "ValidMetricFound",
            f"the HPA was able to successfully calculate a replica count from {proposals.metric}",
        )
        reason = ""
        if wish.desired > wish.current:
            reason = f"{proposals.metric} above target"
        elif wish.desired < wish.current:
            reason = "All metrics below target"
        outcome = normalize(
            wish,
            status.obj["spec"].get("behavior"),
            self._history(status.obj),
            self.clock.now(),
            self.context.config.autoscaler_stabilization,
        )
        status.condition(_ABLE, "True", *outcome.able)
        status.condition(_LIMITED, "True" if outcome.limited else "False", *outcome.limit)
        return _Decision(
            outcome.replicas,
            outcome.replicas != wish.current,
            reason,
            list(proposals.statuses),
        )

    async def _give_up(
        self, status: Status, current: int, metrics: list[JsonObject], error: str
    ) -> None:
        status.sizes(current, None, metrics)
        await self._write(status)
        self.event(status.obj, "Warning", "FailedComputeMetricsReplicas", error)

    async def _propose(self, status: Status, scale: JsonObject) -> Proposals:
        autoscaler, config = status.obj, self.context.config
        text = (scale.get("status") or {}).get("selector") or ""
        selector = self._selector(status, text)
        namespace = namespace_of(autoscaler)
        pods = selected(self._pods, namespace, selector)
        self._check_alone(status, text, pods)
        timing = Timing(
            self.clock.now(),
            config.autoscaler_cpu_initialization,
            config.autoscaler_initial_readiness_delay,
        )
        spec = autoscaler["spec"]
        situation = Situation(
            _replicas(scale, "spec"), pods, timing, tolerances(spec, config.autoscaler_tolerance)
        )
        query = Query(namespace, text, situation, _replicas(scale, "status"))
        return await propose_all(self._source, query, spec.get("metrics") or [])

    def _selector(self, status: Status, text: str) -> LabelSelector:
        if not text:
            said = "the HPA target's scale is missing a selector"
            raise self._bad_selector(
                status, ("SelectorRequired", "InvalidSelector"), "selector is required", said
            )
        try:
            selector = parse_label_selector(text)
        except BadRequestError as error:
            said = (
                f"couldn't convert selector into a corresponding internal selector object: {error}"
            )
            reasons = ("InvalidSelector", "InvalidSelector")
            raise self._bad_selector(status, reasons, said, said) from error
        self._claims.put(key_of(status.obj), selector)
        return selector

    def _check_alone(self, status: Status, text: str, pods: Sequence[JsonObject]) -> None:
        owners = self._claims.on(namespace_of(status.obj), pods)
        if len(owners) > 1:
            listed = " ".join(owners)
            said = f"pods by selector {text} are controlled by multiple HPAs: [{listed}]"
            reasons = ("AmbiguousSelector", "AmbiguousSelector")
            raise self._bad_selector(status, reasons, said, said)

    def _bad_selector(
        self, status: Status, reasons: tuple[str, str], error: str, said: str
    ) -> MetricError:
        self.event(status.obj, "Warning", reasons[0], error)
        status.condition(_ACTIVE, "False", reasons[1], said)
        return MetricError(error)

    async def _rescale(
        self, autoscaler: JsonObject, target: tuple[Resource, JsonObject], decision: _Decision
    ) -> Exception | None:
        resource, scale = target
        failure: Exception | None = None
        for _ in range(_ATTEMPTS):
            scale["spec"] = {"replicas": decision.desired}
            try:
                await self.client.update(resource, scale, subresource="scale")
            except ConflictError as error:
                failure = error
            except (ApiError, TransportError) as error:
                return error
            else:
                return None
            try:
                scale = await self.client.get(
                    resource,
                    name_of(scale),
                    namespace=namespace_of(autoscaler),
                    subresource="scale",
                )
            except (ApiError, TransportError):
                break
        return failure

    def _tell_failure(self, status: Status, decision: _Decision, error: Exception) -> None:
        self.event(
            status.obj,
            "Warning",
            "FailedRescale",
            f"New size: {decision.desired}; reason: {decision.reason}; error: {error}",
        )
        status.condition(
            _ABLE,
            "False",
            "FailedUpdateScale",
            f"the HPA controller was unable to update the target scale: {error}",
        )

    def _tell_success(self, status: Status, decision: _Decision, current: int) -> None:
        status.condition(
            _ABLE,
            "True",
            "SucceededRescale",
            f"the HPA controller was able to update the target scale to {decision.desired}",
        )
        self.event(
            status.obj,
            "Normal",
            "SuccessfulRescale",
            f"New size: {decision.desired}; reason: {decision.reason}",
        )
        behavior = status.obj["spec"].get("behavior")
        self._history(status.obj).note_scale(behavior, current, decision.desired, self.clock.now())

    async def _write(self, status: Status) -> None:
        if not status.changed:
            return
        try:
            await self.client.update(
                HORIZONTALPODAUTOSCALERS, status.result(), subresource="status"
            )
        except NotFoundError:
            return
        except ApiError as error:
            self.event(status.obj, "Warning", "FailedUpdateStatus", str(error))
            raise


def tolerances(spec: JsonObject, default: float) -> Tolerances:
    behavior = spec.get("behavior") or {}

    def of(direction: str) -> float:
        given = (behavior.get(direction) or {}).get("tolerance")
        return default if given is None else float(parse_quantity(given))

    return Tolerances(of("scaleDown"), of("scaleUp"))


def _replicas(scale: JsonObject, part: str) -> int:
    return int((scale.get(part) or {}).get("replicas") or 0)
