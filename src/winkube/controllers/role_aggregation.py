"""Cluster roles with an aggregation rule: their rules are those of the roles it selects."""

from collections.abc import Iterable

from winkube.api.meta import labels_of, name_of
from winkube.api.selector.labels import from_label_selector
from winkube.base.types import JsonObject
from winkube.client.resource import CLUSTERROLES
from winkube.controllers.controller import Context, Controller


def plan_rules(role: JsonObject, roles: Iterable[JsonObject]) -> list[JsonObject]:
    """In the order of the selectors, then of the roles' names; no rule twice."""
    by_name = sorted(roles, key=name_of)
    rules: list[JsonObject] = []
    for wanted in (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ():
        selector = from_label_selector(wanted)
        for other in by_name:
            if name_of(other) != name_of(role) and selector.matches(labels_of(other)):
                rules += [rule for rule in other.get("rules") or () if rule not in rules]
    return rules


class RoleAggregationController(Controller):
    name = "clusterrole-aggregation-controller"
    workers = 1

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._roles = self.informer(CLUSTERROLES)
        self._roles.on_change(self._changed)

    def _changed(self, key: str, old: JsonObject | None, new: JsonObject | None) -> None:
        """Any role may be part of any other."""
        for role in self._roles.list():
            if role.get("aggregationRule"):
                self.queue.add(name_of(role))
        self.queue.add(key)

    async def reconcile(self, key: str) -> None:
        role = self._roles.get(key)
        if role is None or not role.get("aggregationRule"):
            return
        rules = plan_rules(role, self._roles.list())
        if rules != (role.get("rules") or []):
            await self.client.update(CLUSTERROLES, {**role, "rules": rules})
