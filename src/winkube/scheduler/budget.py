"""PodDisruptionBudgets as preemption asks for them: which cover a pod, and who may still go.

There may be hundreds of them with hundreds of requirements each, over thousands of pods: a budget
is read once, and pods alike are looked at once.
"""

from collections.abc import Iterable
from typing import Final

from winkube.api.meta import key_of, namespace_of
from winkube.api.selector.index import SelectorIndex
from winkube.api.selector.labels import LabelSelector, from_label_selector
from winkube.base.types import JsonObject
from winkube.scheduler.shape import PodInfo

REMEMBERED: Final = 4096


class Budget:
    """A PodDisruptionBudget, and how many of its pods may still go."""

    def __init__(self, obj: JsonObject) -> None:
        self.namespace = namespace_of(obj)
        self.selector: LabelSelector = from_label_selector((obj.get("spec") or {}).get("selector"))
        self.count(obj)

    def count(self, obj: JsonObject) -> None:
        """Only its status is another: that changes with every pod that goes."""
        status = obj.get("status") or {}
        self.obj = obj
        self.allowed = int(status.get("disruptionsAllowed") or 0)
        self.disrupted: JsonObject = status.get("disruptedPods") or {}


class Budgets:
    """Those there are at the moment of one try."""

    def __init__(self, budgets: Iterable[Budget]) -> None:
        self._indexes: dict[str, SelectorIndex[Budget]] = {}
        self._kept: dict[object, list[Budget]] = {}
        for each in budgets:
            if not each.selector.empty:
                index = self._indexes.setdefault(each.namespace, SelectorIndex())
                index.add(each.selector, each)

    def __bool__(self) -> bool:
        return bool(self._indexes)

    def about(self, pod: PodInfo) -> Iterable[Budget]:
        """The budgets that the pod's going would count against."""
        index = self._indexes.get(pod.namespace)
        if index is None or not pod.labels:
            return ()
        alike = (pod.namespace, *pod.labels.items())
        found = self._kept.get(alike)
        if found is None:
            possible = index.about(pod.labels)
            found = [each for each in possible if each.selector.matches(pod.labels)]
            if len(self._kept) > REMEMBERED:
                self._kept.clear()
            self._kept[alike] = found
        name = pod.name
        return [each for each in found if not each.disrupted or name not in each.disrupted]


class BudgetCache:
    def __init__(self) -> None:
        self._read: dict[str, Budget] = {}
        self._budgets = Budgets(())

    def now(self, objects: Iterable[JsonObject]) -> Budgets:
        """``objects`` as the informer has them: one that is the same object has not changed.

        What was given out before is counted anew with it: nobody keeps it beyond one try.
        """
        before = self._read
        fresh: dict[str, Budget] = {}
        changed = False
        for obj in objects:
            key = key_of(obj)
            known = before.get(key)
            if known is None or known.obj.get("spec") != obj.get("spec"):
                known, changed = Budget(obj), True
            elif known.obj is not obj:
                known.count(obj)
            fresh[key] = known
        if changed or len(fresh) != len(before):
            self._read = fresh
            self._budgets = Budgets(fresh.values())
        return self._budgets
