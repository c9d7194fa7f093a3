"""What is allowed in a workload and probably not meant."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from winkube.api import names
from winkube.api.meta import name_of
from winkube.api.warnings.claim import claim_spec_warnings
from winkube.api.warnings.pod import template_warnings
from winkube.base.types import JsonObject

_COMPLETIONS: Final = 10**5
_PARALLELISM: Final = 10**4


def controller_warnings(obj: JsonObject) -> Iterator[str]:
    """Of a new Deployment, ReplicaSet or ReplicationController."""
    yield from _name_warnings(obj)
    yield from daemon_set_warnings(obj)


def daemon_set_warnings(obj: JsonObject) -> Iterator[str]:
    template = (obj.get("spec") or {}).get("template")
    if template is not None:
        yield from template_warnings(template, "spec.template")


def _name_warnings(obj: JsonObject) -> Iterator[str]:
    details = names.dns_label_problems(name_of(obj))
    if details:
        yield (
            "metadata.name: this is used in Pod names and hostnames, which can result in "
            f"surprising behavior; a DNS label is recommended: [{' '.join(details)}]"
        )


def if_changed(
    find: Callable[[JsonObject], Iterable[str]],
) -> Callable[[JsonObject, JsonObject], Iterable[str]]:
    """The same of an update, if it changes what is wanted."""

    def warnings(new: JsonObject, old: JsonObject) -> Iterable[str]:
        changed = new["metadata"].get("generation") != old["metadata"].get("generation")
        return find(new) if changed else ()

    return warnings


def job_warnings(obj: JsonObject) -> Iterator[str]:
    yield from _name_warnings(obj)
    yield from job_spec_warnings(obj)


def job_spec_warnings(obj: JsonObject) -> Iterator[str]:
    yield from _of_job_spec(obj.get("spec") or {}, "spec")


def cron_job_warnings(obj: JsonObject) -> Iterator[str]:
    yield from _name_warnings(obj)
    yield from cron_job_spec_warnings(obj)


def cron_job_spec_warnings(obj: JsonObject) -> Iterator[str]:
    template = (obj.get("spec") or {}).get("jobTemplate") or {}
    yield from _of_job_spec(template.get("spec") or {}, "spec.jobTemplate.spec")


def _of_job_spec(spec: JsonObject, path: str) -> Iterator[str]:
    many = (spec.get("completions") or 0) > _COMPLETIONS
    wide = (spec.get("parallelism") or 0) > _PARALLELISM
    if spec.get("completionMode") == "Indexed" and many and wide:
        yield (
            f"{path}: In Indexed Jobs with a number of completions higher than 10^5 and a "
            "parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes "
            "when a big number of indexes fail"
        )
    yield from template_warnings(spec.get("template") or {}, f"{path}.template")


def stateful_set_warnings(obj: JsonObject) -> Iterator[str]:
    yield from daemon_set_warnings(obj)
    yield from _of_claims(obj, "")
    yield from _history_warnings(obj)


def stateful_set_update_warnings(new: JsonObject, old: JsonObject) -> Iterator[str]:
    yield from if_changed(daemon_set_warnings)(new, old)
    yield from _of_claims(new, ".Spec")
    yield from _history_warnings(new)


def _of_claims(obj: JsonObject, suffix: str) -> Iterator[str]:
    for index, claim in enumerate((obj.get("spec") or {}).get("volumeClaimTemplates") or ()):
        path = f"spec.volumeClaimTemplates[{index}]{suffix}"
        yield from claim_spec_warnings(claim.get("spec") or {}, path)


def _history_warnings(obj: JsonObject) -> Iterator[str]:
    if ((obj.get("spec") or {}).get("revisionHistoryLimit") or 0) < 0:
        yield (
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; "
            "a value >= 0 is recommended"
        )
