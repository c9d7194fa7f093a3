"""Jobs (upstream: pkg/apis/batch/validation)."""

import re
from typing import Any, Final

from winkube.api import names
from winkube.api.errors import BadRequestError
from winkube.api.go.text import quoted
from winkube.api.internal import internal
from winkube.api.meta import labels_of, name_of, uid_of
from winkube.api.selector.labels import from_label_selector
from winkube.api.validation.common import (
    IMMUTABLE,
    check_immutable,
    check_nonnegative,
    check_selector,
)
from winkube.api.validation.network.network_class import check_prefixed_path
from winkube.api.validation.pod.pod import check_template
from winkube.api.validation.problems import Problems
from winkube.base.types import JsonObject

_MAX_RULES: Final = 20
_MAX_MANAGED_BY: Final = 63
_MAX_EXIT_CODES: Final = 255
_MAX_PARALLELISM: Final = 100_000
_MAX_FAILED_INDEXES: Final = 100_000
_MANY_COMPLETIONS: Final = 100_000
_MANY_COMPLETIONS_LIMIT: Final = 10_000
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_NOT_INDEXED: Final = "requires indexed completion mode"


def validate_job(obj: JsonObject, problems: Problems) -> None:
    spec = obj.get("spec") or {}
    _check_generated_selector(obj, spec, problems)
    check_job_spec(spec, "spec", problems)
    _check_job_selector(spec, problems)
    completions = spec.get("completions")
    if spec.get("completionMode") == "Indexed" and completions:
        longest = f"{name_of(obj)}-{completions - 1}"
        if names.dns_label_problems(longest):
            text = f"will not able to create pod with invalid DNS label: {longest}"
            problems.invalid("metadata.name", name_of(obj), text)


def _check_generated_selector(obj: JsonObject, spec: JsonObject, problems: Problems) -> None:
    """Labels the user gave may contradict those a selector is made of."""
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return
    labels = labels_of(spec.get("template") or {})
    wanted = {
        f"{prefix}{name}": value
        for prefix in ("", "batch.kubernetes.io/")
        for name, value in (("controller-uid", uid_of(obj)), ("job-name", name_of(obj)))
    }
    for key, value in wanted.items():
        path, text = f"spec.template.metadata.labels[{key}]", f"must be '{value}'"
        if key not in labels:
            problems.required(path, text)
        elif labels[key] != value:
            problems.invalid(path, dict(sorted(labels.items())), text)
    if _selects(selector, wanted) is False:
        problems.invalid("spec.selector", selector, "`selector` not auto-generated")


def _selects(selector: JsonObject, labels: dict[str, str]) -> bool | None:
    """None when the selector cannot be read."""
    unreadable = Problems()
    check_selector(selector, "", unreadable)
    if unreadable:
        return None
    try:
        return from_label_selector(selector).matches(labels)
    except BadRequestError:
        return None


def _check_job_selector(spec: JsonObject, problems: Problems) -> None:
    selector, labels = spec.get("selector"), labels_of(spec.get("template") or {})
    if selector is None:
        problems.required("spec.selector")
    else:
        check_selector(selector, "spec.selector", problems)
    if selector is None or _selects(selector, labels) is False:
        text = "`selector` does not match template `labels`"
        shown = dict(sorted(labels.items())) or None
        problems.invalid("spec.template.metadata.labels", shown, text)


def check_job_spec(spec: JsonObject, path: str, problems: Problems) -> None:
    for field in (
        "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
        "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes",
    ):  # fmt: skip
        check_nonnegative(spec.get(field), f"{path}.{field}", problems)
    managed_by = spec.get("managedBy")
    if managed_by is not None:
        check_prefixed_path(managed_by, f"{path}.managedBy", problems)
        if len(managed_by.encode()) > _MAX_MANAGED_BY:
            problems.too_long(f"{path}.managedBy", _MAX_MANAGED_BY)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        text = "when maxFailedIndexes is specified"
        problems.required(f"{path}.backoffLimitPerIndex", text)
    _check_mode(spec, path, problems)
    if spec.get("podFailurePolicy") is not None:
        _check_failure_policy(spec, f"{path}.podFailurePolicy", problems)
    if spec.get("successPolicy") is not None:
        _check_success_policy(spec, f"{path}.successPolicy", problems)
    replacement = spec.get("podReplacementPolicy")
    if replacement is not None:
        ruled = spec.get("podFailurePolicy") is not None
        allowed = ("Failed",) if ruled else ("Failed", "TerminatingOrFailed")
        if replacement not in allowed:
            problems.unsupported(f"{path}.podReplacementPolicy", replacement, allowed)
    check_template(spec.get("template") or {}, f"{path}.template", problems)
    _check_restart_policy(spec, f"{path}.template.spec.restartPolicy", problems)


def _check_mode(spec: JsonObject, path: str, problems: Problems) -> None:
    mode = spec.get("completionMode")
    if mode not in (None, "NonIndexed", "Indexed"):
        problems.unsupported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed"))
    if mode == "Indexed":
        _check_indexed(spec, path, problems)
    elif mode in (None, "NonIndexed"):
        for field in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(field) is not None:
                problems.invalid(f"{path}.{field}", spec[field], _NOT_INDEXED)


def _check_indexed(spec: JsonObject, path: str, problems: Problems) -> None:
    completions, parallelism = spec.get("completions"), spec.get("parallelism") or 0
    failed = spec.get("maxFailedIndexes")
    if completions is None:
        problems.required(f"{path}.completions", "when completion mode is Indexed")
    if parallelism > _MAX_PARALLELISM:
        text = f"must be less than or equal to {_MAX_PARALLELISM} when completion mode is Indexed"
        problems.invalid(f"{path}.parallelism", parallelism, text)
    if failed is not None and completions is not None and failed > completions:
        text = "must be less than or equal to completions"
        problems.invalid(f"{path}.maxFailedIndexes", failed, text)
    if failed is not None and failed > _MAX_FAILED_INDEXES:
        text = f"must be less than or equal to {_MAX_FAILED_INDEXES}"
        problems.invalid(f"{path}.maxFailedIndexes", failed, text)
    many = (completions or 0) > _MANY_COMPLETIONS
    if many and spec.get("backoffLimitPerIndex") is not None:
        _check_many(spec, path, problems)


def _check_many(spec: JsonObject, path: str, problems: Problems) -> None:
    if spec.get("maxFailedIndexes") is None:
        text = f"must be specified when completions is above {_MANY_COMPLETIONS}"
        problems.required(f"{path}.maxFailedIndexes", text)
    text = (
        f"must be less than or equal to {_MANY_COMPLETIONS_LIMIT} when completions are above "
        f"{_MANY_COMPLETIONS} and used with backoff limit per index"
    )
    for field in ("parallelism", "maxFailedIndexes"):
        value = spec.get(field)
        if value is not None and value > _MANY_COMPLETIONS_LIMIT:
            problems.invalid(f"{path}.{field}", value, text)


def _check_restart_policy(spec: JsonObject, path: str, problems: Problems) -> None:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy")
    # The default of a pod does not suit a job, so it counts as not having chosen.
    if policy in (None, "", "Always"):
        problems.required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        problems.unsupported(path, policy, ("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        text = 'only "Never" is supported when podFailurePolicy is specified'
        problems.invalid(path, policy, text)


def _check_failure_policy(spec: JsonObject, path: str, problems: Problems) -> None:
    rules = spec["podFailurePolicy"].get("rules") or []
    if len(rules) > _MAX_RULES:
        problems.too_many(f"{path}.rules", len(rules), _MAX_RULES)
    pod = (spec.get("template") or {}).get("spec") or {}
    containers = {
        each.get("name")
        for field in ("containers", "initContainers")
        for each in pod.get(field) or ()
    }
    for index, rule in enumerate(rules):
        here = f"{path}.rules[{index}]"
        _check_action(spec, rule.get("action") or "", f"{here}.action", problems)
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions")
        if codes is not None:
            _check_exit_codes(codes, containers, f"{here}.onExitCodes", problems)
        _check_patterns(conditions or [], f"{here}.onPodConditions", problems)
        if (codes is not None) == bool(conditions):
            one = "both OnExitCodes and OnPodConditions is not supported"
            none = "one of OnExitCodes and OnPodConditions is required"
            text = f"specifying {one if conditions else none}"
            problems.malformed(here, text)


def _check_action(spec: JsonObject, action: str, path: str, problems: Problems) -> None:
    if not action:
        shown = " ".join(f'"{each}"' for each in _ACTIONS)
        problems.required(path, f"valid values: [{shown}]")
    elif action == "FailIndex":
        if spec.get("backoffLimitPerIndex") is None:
            problems.invalid(path, action, "requires the backoffLimitPerIndex to be set")
    elif action not in _ACTIONS:
        problems.unsupported(path, action, _ACTIONS)


def _check_exit_codes(
    codes: JsonObject, containers: set[Any], path: str, problems: Problems
) -> None:
    operator, values = codes.get("operator") or "", codes.get("values") or []
    if not operator:
        problems.required(f"{path}.operator", 'valid values: ["In" "NotIn"]')
    elif operator not in ("In", "NotIn"):
        problems.unsupported(f"{path}.operator", operator, ("In", "NotIn"))
    container = codes.get("containerName")
    if container is not None and container not in containers:
        text = "must be one of the container or initContainer names in the pod template"
        problems.invalid(f"{path}.containerName", container, text)
    if not values:
        problems.invalid(f"{path}.values", codes.get("values"), "at least one value is required")
    elif len(values) > _MAX_EXIT_CODES:
        problems.too_many(f"{path}.values", len(values), _MAX_EXIT_CODES)
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            text = "must not be 0 for the In operator"
            problems.invalid(f"{path}.values[{index}]", value, text)
        if value in values[:index]:
            problems.duplicate(f"{path}.values[{index}]", value)
    if values != sorted(values):
        problems.invalid(f"{path}.values", values, "must be ordered")


def _check_patterns(patterns: list[JsonObject], path: str, problems: Problems) -> None:
    if len(patterns) > _MAX_RULES:
        problems.too_many(path, len(patterns), _MAX_RULES)
    for index, pattern in enumerate(patterns):
        here, kind = f"{path}[{index}]", pattern.get("type") or ""
        problems.all_invalid(f"{here}.type", kind, names.label_key_problems(kind))
        states = ("False", "True", "Unknown")
        if not pattern.get("status"):
            problems.required(f"{here}.status", 'valid values: ["False" "True" "Unknown"]')
        elif pattern["status"] not in states:
            problems.unsupported(f"{here}.status", pattern["status"], states)


def _check_success_policy(spec: JsonObject, path: str, problems: Problems) -> None:
    policy = spec["successPolicy"]
    if spec.get("completionMode") != "Indexed":
        problems.invalid(path, internal("SuccessPolicy", policy), _NOT_INDEXED)
        return
    rules = policy.get("rules") or []
    if not rules:
        text = "at least one rules must be specified when the successPolicy is specified"
        problems.required(f"{path}.rules", text)
    if len(rules) > _MAX_RULES:
        problems.too_many(f"{path}.rules", len(rules), _MAX_RULES)
    for index, rule in enumerate(rules):
        here = f"{path}.rules[{index}]"
        _check_success_rule(rule, int(spec.get("completions") or 0), here, problems)


def _check_success_rule(rule: JsonObject, completions: int, path: str, problems: Problems) -> None:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and indexes is None:
        text = "at least one of succeededCount or succeededIndexes must be specified"
        problems.required(path, text)
    total = 0
    if indexes is not None:
        try:
            total = _count_indexes(indexes, completions)
        except ValueError as error:
            text = f"error parsing succeededIndexes: {error}"
            problems.invalid(f"{path}.succeededIndexes", indexes, text)
    if count is None:
        return
    check_nonnegative(count, f"{path}.succeededCount", problems)
    limits = [(completions, "the number of specified completions")]
    if indexes is not None:
        limits.append((total, "the number of indexes in the specified succeededIndexes field"))
    for limit, what in limits:
        if count > limit:
            text = f"must be less than or equal to {limit} ({what})"
            problems.invalid(f"{path}.succeededCount", count, text)


def _count_indexes(text: str, completions: int) -> int:
    total, previous = 0, -1
    for part in text.split(",") if text else ():
        limits = part.split("-")
        if len(limits) > 2:
            raise ValueError(
                f'the fragment "{part}" violates the requirement that an index interval can have '
                "at most two parts separated by '-'"
            )
        first, last = _index(limits[0], completions), _index(limits[-1], completions)
        if len(limits) > 1 and first >= last:
            raise ValueError(f"non-increasing order, previous: {first}, current: {last}")
        if previous >= first:
            raise ValueError(f"non-increasing order, previous: {previous}, current: {first}")
        total, previous = total + last - first + 1, last
    return total


def _index(text: str, completions: int) -> int:
    if not re.fullmatch(r"[0-9]+", text):
        raise ValueError(f"cannot convert string to integer for index: {quoted(text)}")
    if int(text) >= completions:
        raise ValueError(f'too large index: "{text}"')
    return int(text)


# Those that are structs are shown as upstream's own type has them.
_FIXED: Final = {
    "completionMode": "", "podFailurePolicy": "PodFailurePolicy", "backoffLimitPerIndex": "",
    "managedBy": "", "successPolicy": "SuccessPolicy",
}  # fmt: skip


def validate_job_update(new: JsonObject, old: JsonObject, problems: Problems) -> None:
    """After the job itself: its spec is looked at again, and then what changed."""
    after, before = new.get("spec") or {}, old.get("spec") or {}
    check_job_spec(after, "spec", problems)
    _check_job_selector(after, problems)
    _check_completions(after, before, problems)
    check_immutable(after.get("selector"), before.get("selector"), "spec.selector", problems)
    template, kept = ({"metadata": {}, **(spec.get("template") or {})} for spec in (after, before))
    started = (old.get("status") or {}).get("startTime")
    if before.get("suspend") and not started:
        kept = _placed(kept, template)
    if template != kept:
        problems.invalid("spec.template", _shown_template(template), IMMUTABLE)
    for field, struct in _FIXED.items():
        fresh, had = after.get(field), before.get(field)
        shown = internal(struct, fresh) if struct and fresh is not None else fresh
        if fresh != had:
            problems.invalid_enum(f"spec.{field}", shown, IMMUTABLE)


def _placed(kept: JsonObject, template: JsonObject) -> JsonObject:
    """What a job that was never started had, with the new one's wishes where its pods go."""
    notes, spec = dict(kept.get("metadata") or {}), dict(kept.get("spec") or {})
    fresh = template.get("spec") or {}
    _take_over(notes, template.get("metadata") or {}, ("labels", "annotations"))
    _take_over(spec, fresh, ("nodeSelector", "tolerations", "schedulingGates"))
    affinity = dict(spec.get("affinity") or {})
    _take_over(affinity, fresh.get("affinity") or {}, ("nodeAffinity",))
    if affinity or fresh.get("affinity") is not None:
        spec["affinity"] = affinity
    else:
        spec.pop("affinity", None)
    return {**kept, "metadata": notes, "spec": spec}


def _take_over(kept: JsonObject, fresh: JsonObject, fields: tuple[str, ...]) -> None:
    for field in fields:
        kept.pop(field, None)
        if field in fresh:
            kept[field] = fresh[field]


_META: Final = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation",
    "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "labels",
    "annotations", "ownerReferences", "finalizers",
)  # fmt: skip


def _shown_template(template: JsonObject) -> JsonObject:
    """As upstream's own type prints itself."""
    given = template.get("metadata") or {}
    notes = {
        key: dict(sorted(given[key].items())) if isinstance(given[key], dict) else given[key]
        for key in _META
        if given.get(key)
    }
    return {**notes, "Spec": internal("PodSpec", template.get("spec") or {})}


def _check_completions(after: JsonObject, before: JsonObject, problems: Problems) -> None:
    """Indexed jobs may grow and shrink, when their parallelism does the same."""
    new, old = after.get("completions"), before.get("completions")
    if new == old:
        return
    indexed = after.get("completionMode") == "Indexed"
    if indexed and new is None:
        return  # said already: it is required
    if not indexed or new is None or old is None:
        check_immutable(new, old, "spec.completions", problems)
    elif new != after.get("parallelism"):
        text = "can only be modified in tandem with spec.parallelism"
        problems.invalid("spec.completions", new, text)
