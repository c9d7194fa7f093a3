"""Numbers as texts can have them: huge, with fractions and exponents, in every place and patch."""

from tests.upstream.exchange import APPLY, JSON_PATCH, MERGE, STRATEGIC, Case, Step
from tests.upstream.objects import SAMPLE
from tests.upstream.variants import DRY

SETS = SAMPLE["Deployment"]
PODS = "/api/v1/namespaces/{ns}/pods"
REVISIONS = SAMPLE["ControllerRevision"]
SERVICES = "/api/v1/namespaces/{ns}/services"
HUGE = "99999999999999999999"
WHOLE = (
    HUGE, "2147483648", "2147483647", "1.5", "1e3", "1.0", "1e40", "-0", "1e-1", "1E2", "-1",
    "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1e19", "01", "+1",
    ".5", "1.", "0x10", "NaN", "Infinity", "true", '"1"', "null", "[1]", "{}", "1e400", "3e0",
)  # fmt: skip
PATCHED = (HUGE, "2147483648", "1.5", "1e3", "1.0", "9223372036854775808", "1e40", "-2147483649")


def text(body: str, value: str) -> str:
    return body.replace("VALUE", value)


def create(path: str, body: str, values: tuple[str, ...]) -> list[Step]:
    return [Step("POST", f"{path}{DRY}", text(body, value)) for value in values]


def patches(media: str, body: str, query: str = "") -> Case:
    asked = [
        Step("PATCH", f"{SETS.item}{DRY}{query}", text(body, value), media) for value in PATCHED
    ]
    return Case(f"in {media}", [Step("POST", SETS.path, SETS.named()), *asked], managed=False)


A_SET = (
    '{"metadata":{"name":"a"},"spec":{"replicas":VALUE,"selector":{"matchLabels":{"app":"a"}},'
    '"template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c","image":"i"}]}'
    "}}}"
)
A_POD = (
    '{"metadata":{"name":"a"},"spec":{"activeDeadlineSeconds":VALUE,'
    '"automountServiceAccountToken":false,"containers":[{"name":"c","image":"i"}]}}'
)
A_LIMIT = (
    '{"metadata":{"name":"a"},"spec":{"automountServiceAccountToken":false,"containers":[{"name":'
    '"c","image":"i","resources":{"limits":{"cpu":VALUE}}}]}}'
)
A_PORT = (
    '{"metadata":{"name":"a"},"spec":{"clusterIP":"None","ports":[{"port":80,"targetPort":VALUE}]}}'
)

CASES = [
    Case("of 32 bits", create(SETS.path, A_SET, WHOLE), managed=False),
    Case("of 64 bits", create(PODS, A_POD, WHOLE), managed=False),
    Case(
        "numbers or names",
        create(
            SERVICES,
            A_PORT,
            (HUGE, "4294967376", "2147483648", "1.5", "8e1", "80.0", '""', "null", "true", "-1"),
        ),
        managed=False,
    ),
    Case(
        "quantities",
        create(
            PODS,
            A_LIMIT,
            (HUGE, "1.5", "1.50", "1e3", "1E3", "15e2", "1e40", '"1e40"', "-1", "0.0001", '"0.1"'),
        ),
        managed=False,
    ),
    Case(
        "in metadata",
        create(
            PODS,
            '{"metadata":{"name":"a","generation":VALUE},"spec":{}}',
            (HUGE, "1.5", "1e2", "true"),
        ),
    ),
    Case(
        "in free data",
        create(
            REVISIONS.path,
            '{"metadata":{"name":"a"},"revision":1,"data":{"a":VALUE}}',
            ("1", "1.50", "1e40", "1e3", "1.0", "-0", "-0.0"),
        ),
        managed=False,
    ),
    patches(MERGE, '{"spec":{"replicas":VALUE}}'),
    patches(STRATEGIC, '{"spec":{"replicas":VALUE}}'),
    patches(JSON_PATCH, '[{"op":"replace","path":"/spec/replicas","value":VALUE}]'),
    patches(
        APPLY,
        '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},'
        '"spec":{"replicas":VALUE}}',
        "&fieldManager=m&force=true",
    ),
    Case(
        "applied values that a schema lets pass",
        [
            Step("POST", SETS.path, SETS.named()),
            *(
                Step(
                    "PATCH",
                    f"{path}{DRY}&fieldManager=m&force=true",
                    text(
                        '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"NAME"},'
                        '"spec":VALUE}',
                        spec,
                    ).replace("NAME", path[-1]),
                    APPLY,
                )
                for path in (SETS.item, f"{SETS.path}/b")
                for spec in (
                    '{"replicas":1.5}',
                    '{"replicas":"1"}',
                    '{"strategy":{"rollingUpdate":{"maxSurge":1.5}}}',
                    '{"strategy":{"rollingUpdate":{"maxSurge":true}}}',
                    '{"strategy":{"rollingUpdate":{"maxSurge":2.0}}}',
                    '{"template":{"spec":{"containers":[{"name":"c","resources":{"limits":'
                    '{"cpu":"x"}}}]}}}',
                    '{"template":{"metadata":{"creationTimestamp":"x"}}}',
                    '{"paused":"x"}',
                    '{"paused":1}',
                )
            ),
        ],
        managed=False,
    ),
    Case(
        "quantities in patches",
        [
            Step(
                "POST",
                PODS,
                text(A_LIMIT, '"1"').replace('"limits"', '"requests"'),
            ),
            *(
                Step(
                    "PATCH",
                    f"{PODS}/a/resize{DRY}",
                    text(
                        '{"spec":{"containers":[{"name":"c","image":"i","resources":'
                        '{"requests":{"cpu":VALUE}}}]}}',
                        value,
                    ),
                    media,
                )
                for media in (MERGE, STRATEGIC)
                for value in ("2", "1.5", "2e3", "15e2", HUGE)
            ),
        ],
        managed=False,
    ),
]
