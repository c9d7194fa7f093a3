"""Pods of one text are made by their pattern: as the long way makes them, and only while it would.

A body with a space in it is never compact, so such a pod always goes the long way.
"""

import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest
from tests.integration.apiserver.conftest import Answer
from tests.integration.apiserver.webhook_server import Configured, Webhook, deny
from tests.upstream.fuzz_pod import LINUX_POD
from tests.upstream.mutation import mutate

from winkube.api.decode import clone
from winkube.api.schema import load_schema
from winkube.apiserver.registry import alike

ENOUGH = 4  # noticed, kept, compared; the next one is made by the pattern
_OWN = re.compile(
    rb'"(uid|resourceVersion|creationTimestamp|time)":"[^"]*"'
    rb'|"name":"pod-[0-9a-z-]*"|"index":"[^"]*"'
)


def pod(name: str, *, labels: Any = None, **spec: Any) -> dict[str, Any]:
    own = {"app": "web", "index": name} if labels is None else labels
    containers = [{"name": "c", "image": "i", "env": [{"name": "A", "value": "100%b %(name)b"}]}]
    return {
        "metadata": {"name": name, "labels": own},
        "spec": {"containers": containers, **spec},
    }


SCHEMA = load_schema()
SAMPLES = (
    pod("pod-x"),
    pod("pod-x", volumes=[{"name": "v", "emptyDir": {}}], tolerations=[{"operator": "Exists"}]),
    {"metadata": {"name": "pod-x"}, "spec": {**LINUX_POD}},
)


class Series:
    """Pods of one namespace; ``patterned`` counts those that a pattern made."""

    def __init__(self, api: Any, space: str, used: Callable[[], int]) -> None:
        self._api, self._used = api, used
        self.space, self.path = space, f"/api/v1/namespaces/{space}"
        api("POST", f"{self.path}/serviceaccounts", {"metadata": {"name": "default"}})

    def create(self, obj: Any, query: str = "") -> tuple[Answer, bool]:
        """The answer, and whether it was made by a pattern."""
        before = self._used()
        answer: Answer = self._api("POST", f"{self.path}/pods{query}", obj)
        return answer, self._used() > before

    def learnt(self, make: Callable[[str], Any] = pod) -> Answer:
        """The answer about the first pod that was made by its pattern."""
        for number in range(ENOUGH + 4):  # a second may begin in between
            answer, patterned = self.create(make(f"pod-{number}"))
            assert answer.status == 201, answer.body
            if patterned:
                assert number >= ENOUGH - 1
                return answer
        raise AssertionError("no pattern was used")

    def never(self, make: Callable[[str], Any]) -> list[Answer]:
        made = [self.create(make(f"pod-{number}")) for number in range(ENOUGH + 4)]
        assert not any(patterned for _, patterned in made)
        return [answer for answer, _ in made]


@pytest.fixture
def series(api: Any, space: str, monkeypatch: pytest.MonkeyPatch) -> Series:
    made = [0]
    create = alike.Alike.create

    async def counted(self: alike.Alike, *args: Any) -> Any:
        item = await create(self, *args)
        made[0] += item is not None
        return item

    monkeypatch.setattr(alike.Alike, "create", counted)
    return Series(api, space, lambda: made[0])


def spaced(obj: Any) -> bytes:
    return orjson.dumps(obj, option=orjson.OPT_INDENT_2)


def stripped(answer: Answer) -> bytes:
    return _OWN.sub(b"", orjson.dumps(answer.body))


def test_a_pattern_makes_what_the_long_way_makes(series: Series) -> None:
    quick = series.learnt()
    slow, patterned = series.create(spaced(pod("pod-slow")))
    assert not patterned
    assert stripped(quick) == stripped(slow)
    metadata = quick.body["metadata"]
    assert metadata["labels"] == {"app": "web", "index": metadata["name"]}
    assert metadata["uid"] != slow.body["metadata"]["uid"]
    assert quick.body["spec"]["containers"][0]["env"][0]["value"] == "100%b %(name)b"


def test_the_pod_is_stored_as_it_was_answered(series: Series, api: Any) -> None:
    made = series.learnt().body
    found = api("GET", f"{series.path}/pods/{made['metadata']['name']}").body
    assert found == made


def test_generated_names_are_made_too(series: Series) -> None:
    def generated(_: str) -> Any:
        obj = pod("x", labels={"app": "web"})
        del obj["metadata"]["name"]
        return {**obj, "metadata": {"generateName": "pod-web-", **obj["metadata"]}}

    made = series.learnt(generated).body["metadata"]
    assert re.fullmatch(r"pod-web-[a-z0-9]{5}", made["name"])
    assert made["generateName"] == "pod-web-"


@pytest.mark.parametrize("name", [0, False, [], {}])
def test_a_name_that_is_no_text_is_refused_though_one_could_be_made(
    series: Series, name: Any
) -> None:
    def named(name: Any) -> Any:
        return {**pod("x"), "metadata": {"name": name, "generateName": "pod-web-"}}

    series.learnt(named)
    refused, _ = series.create(named(name))
    assert refused.status == 400
    assert "cannot unmarshal" in refused.message


def test_a_taken_name_is_refused(series: Series) -> None:
    name = series.learnt().body["metadata"]["name"]
    again, _ = series.create(pod(name))
    assert (again.status, again.body["reason"]) == (409, "AlreadyExists")


@pytest.mark.parametrize("name", ["pod-A", "pod-", "a" * 64, "../x", "pod.dotted", 7, None, ["x"]])
def test_odd_names_are_answered_as_ever(series: Series, name: Any) -> None:
    series.learnt()
    body = pod("pod-x", labels={"app": "web", "index": "x"})
    body["metadata"]["name"] = name
    quick, patterned = series.create(body)
    slow, _ = series.create(spaced(body))
    assert not patterned
    assert quick.status in (slow.status, 201)
    if quick.status != 201:
        assert quick.body == slow.body


@pytest.mark.parametrize("value", ["a b", "-x", "x" * 64, "ä", "", 7, None])
def test_odd_labels_are_answered_as_ever(series: Series, value: Any) -> None:
    series.learnt()
    body = pod("pod-odd", labels={"app": "web", "index": value})
    quick, patterned = series.create(body)
    body["metadata"]["name"] = "pod-slow"
    slow, _ = series.create(spaced(body))
    assert patterned == (value == "")
    assert quick.status == slow.status
    if quick.status != 201:
        told = orjson.dumps(quick.body).replace(b"pod-odd", b"pod-slow")
        assert orjson.loads(told) == slow.body


def test_keys_written_twice_are_noticed(series: Series) -> None:
    series.learnt()
    raw = orjson.dumps(pod("pod-twice")).replace(b'"image":"i"', b'"image":"i","image":"i"')
    made, patterned = series.create(raw)
    assert not patterned
    assert "duplicate field" in made.headers["Warning"]


def test_numbers_spelt_in_another_way_are_noticed(series: Series) -> None:
    """Though the text is as long: 1e3 is no 1k."""

    def limited(name: str) -> Any:
        resources = {"limits": {"cpu": 1000.0}}
        return pod(name, initContainers=[{"name": "i", "image": "i", "resources": resources}])

    series.learnt(limited)
    raw = orjson.dumps(limited("pod-spelt")).replace(b"1000.0", b"1e3   ")
    made, patterned = series.create(raw)
    assert not patterned
    assert made.body["spec"]["initContainers"][0]["resources"]["limits"] == {"cpu": "1e3"}


def test_unknown_fields_are_told_every_time(series: Series) -> None:
    def misspelt(name: str) -> Any:
        return pod(name, hostnetwork=True)

    assert "unknown field" in series.learnt(misspelt).headers["Warning"]
    refused, _ = series.create(misspelt("pod-strict"), "?fieldValidation=Strict")
    assert refused.status == 400


def test_each_manager_owns_its_own(series: Series) -> None:
    series.learnt()
    made, patterned = series.create(pod("pod-other"), "?fieldManager=somebody")
    assert not patterned
    assert made.body["metadata"]["managedFields"][0]["manager"] == "somebody"


def test_a_dry_run_makes_nothing(series: Series, api: Any) -> None:
    series.learnt()
    made, patterned = series.create(pod("pod-dry"), "?dryRun=All")
    assert (made.status, patterned) == (201, False)
    assert api("GET", f"{series.path}/pods/pod-dry").status == 404


def test_selectors_made_of_labels_differ(series: Series) -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {},
        "matchLabelKeys": ["index"],
    }
    answers = series.never(lambda name: pod(name, topologySpreadConstraints=[constraint]))
    for answer in answers:
        [made] = answer.body["spec"]["topologySpreadConstraints"]
        [expression] = made["labelSelector"]["matchExpressions"]
        assert expression["values"] == [answer.body["metadata"]["name"]]


def test_times_in_the_status_are_the_pods_own(series: Series) -> None:
    for answer in series.never(lambda name: pod(name, schedulingGates=[{"name": "g"}])):
        [condition] = answer.body["status"]["conditions"]
        assert condition["lastTransitionTime"] == answer.body["metadata"]["creationTimestamp"]


def test_claims_named_after_the_pod_are_judged_with_its_name(series: Series) -> None:
    template = {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}
    }
    volumes = [
        {"name": "v", "ephemeral": {"volumeClaimTemplate": template}},
        {"name": "w", "persistentVolumeClaim": {"claimName": "pod-own-v"}},
    ]
    series.never(lambda name: pod(name, volumes=volumes))
    refused, _ = series.create(pod("pod-own", volumes=volumes))
    assert refused.status == 422
    assert "must not reference a PVC that gets created" in refused.message


def test_a_limit_range_completes_the_next_pod(series: Series, api: Any) -> None:
    series.learnt()
    limits = [{"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}}]
    body = {"metadata": {"name": "l"}, "spec": {"limits": limits}}
    assert api("POST", f"{series.path}/limitranges", body).status == 201
    made, _ = series.create(pod("pod-after"))
    resources = made.body["spec"]["containers"][0]["resources"]
    assert resources == {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}
    assert api("DELETE", f"{series.path}/limitranges/l").status == 200
    made, _ = series.create(pod("pod-later"))
    assert made.body["spec"]["containers"][0]["resources"] == {}


def test_a_quota_counts_the_next_pod(series: Series, api: Any) -> None:
    series.learnt()
    body = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}}
    quota = api("POST", f"{series.path}/resourcequotas", body).body
    quota["status"] = {"hard": {"pods": "0"}, "used": {"pods": "0"}}
    assert api("PUT", f"{series.path}/resourcequotas/q/status", quota).status == 200
    refused, _ = series.create(pod("pod-after"))
    assert refused.status == 403
    assert "exceeded quota: q" in refused.message


def test_a_stricter_namespace_refuses_the_next_pod(series: Series, api: Any) -> None:
    series.learnt()
    level = {"pod-security.kubernetes.io/enforce": "restricted"}
    patch = {"metadata": {"labels": level}}
    kind = {"Content_Type": "application/merge-patch+json"}
    assert api("PATCH", series.path, patch, **kind).status == 200
    refused, _ = series.create(pod("pod-after"))
    assert refused.status == 403
    assert "violates PodSecurity" in refused.message


def test_an_ending_namespace_refuses_the_next_pod(series: Series, api: Any) -> None:
    series.learnt()
    assert api("DELETE", series.path).status == 200
    refused, _ = series.create(pod("pod-after"))
    assert refused.status == 403
    assert "is being terminated" in refused.message


def test_the_account_of_the_moment_counts(series: Series, api: Any) -> None:
    series.learnt()
    secrets = {"imagePullSecrets": [{"name": "s"}]}
    kind = {"Content_Type": "application/merge-patch+json"}
    assert api("PATCH", f"{series.path}/serviceaccounts/default", secrets, **kind).status == 200
    made, _ = series.create(pod("pod-after"))
    assert made.body["spec"]["imagePullSecrets"] == [{"name": "s"}]


def test_an_account_under_its_name_of_old_has_to_exist(series: Series, api: Any) -> None:
    accounts = f"{series.path}/serviceaccounts"
    assert api("POST", accounts, {"metadata": {"name": "x"}}).status == 201
    series.learnt(lambda name: pod(name, serviceAccount="x"))
    assert api("DELETE", f"{accounts}/x").status == 200
    refused, _ = series.create(pod("pod-after", serviceAccount="x"))
    assert refused.status == 403
    assert 'serviceaccount "x" not found' in refused.message


@pytest.fixture
def default_class(api: Any) -> Iterator[Callable[[], None]]:
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"

    def make() -> None:
        body = {"metadata": {"name": "alike"}, "value": 7, "globalDefault": True}
        assert api("POST", path, body).status == 201

    yield make
    api("DELETE", f"{path}/alike")


def test_a_new_default_class_counts(series: Series, default_class: Callable[[], None]) -> None:
    series.learnt()
    default_class()
    made, _ = series.create(pod("pod-after"))
    assert made.body["spec"]["priority"] == 7


def test_webhooks_are_asked_about_every_pod(
    series: Series, hook: Webhook, configured: Configured
) -> None:
    series.learnt()
    hook.answers["v"] = lambda request: deny(request, message="no pods today", code=403)
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}
    assert configured("validating", hook.config("v", rules=[rule])).status == 201
    refused, _ = series.create(pod("pod-after"))
    assert "no pods today" in refused.message


def _own_fields(body: Any) -> Any:
    """An answer without what is each pod's own."""
    text = orjson.dumps(body)
    name = (body.get("metadata") or {}).get("name") or (body.get("details") or {}).get("name") or ""
    return _OWN.sub(b"", text.replace(f'"{name}'.encode(), b'"') if name else text)


@pytest.mark.parametrize("seed", range(4))
def test_any_pod_is_answered_the_same_again_and_again(series: Series, seed: int) -> None:
    """Bodies right and wrong, each sent until a pattern would be used."""
    choose, patterned = random.Random(seed), 0
    for number in range(25):
        body = mutate(choose, SCHEMA, ("", "v1", "Pod"), clone(choose.choice(SAMPLES)))
        answers = []
        for turn in range(ENOUGH + 1):
            sent = clone(body)
            metadata = sent.get("metadata") if isinstance(sent, dict) else None
            if isinstance(metadata, dict) and "name" in metadata:
                metadata["name"] = f"pod-{number}-{turn}"
            answer, quick = series.create(sent)
            patterned += quick
            answers.append((answer.status, _own_fields(answer.body)))
        assert len(set(answers)) == 1, (body, answers)
    assert patterned
