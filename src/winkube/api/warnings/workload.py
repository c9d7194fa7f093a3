"""What is allowed in a workload and probably not meant."""

from collections.abc import Iterable

from winkube.base.types import JsonObject


def stateful_set_warnings(obj: JsonObject) -> Iterable[str]:
    if ((obj.get("spec") or {}).get("revisionHistoryLimit") or 0) < 0:
        yield (
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; "
            "a value >= 0 is recommended"
        )
