"""What strict reading minds: keys written twice and unknown fields, in JSON, YAML and patches."""

from tests.upstream.exchange import APPLY, JSON, JSON_PATCH, MERGE, STRATEGIC, Case, Step
from tests.upstream.objects import SAMPLE
from tests.upstream.variants import DRY

MAPS = "/api/v1/namespaces/{ns}/configmaps"
SETS = SAMPLE["Deployment"]
YAML = "application/yaml"
LEVELS = ("", "&fieldValidation=Ignore", "&fieldValidation=Warn", "&fieldValidation=Strict",
          "&fieldValidation=Other")  # fmt: skip

TWICE = (
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","name":"b","labels":{"x":"1","x":'
    '"2"}},"data":{"k":"v","k":"w"},"data":{"z":"y"},"other":1,"other":2}'
)
NESTED = (
    '{"metadata":{"name":"a"},"spec":{"replicas":1,"replicas":2,"bogus":1,"selector":{"matchLabels"'
    ':{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c",'
    '"image":"i","image":"j","x":1},{"name":"d","image":"i","y":2,"y":3}]}}}}'
)
LINES = (
    'metadata:\n  name: a\n  labels:\n    x: "1"\n    x: "2"\ndata:\n  k: v\n  k:\n    w\n'
    "foo: bar\nbar: 1\n"
)
APPLIED = "apiVersion: v1\nkind: ConfigMap\n"


def bodies(level: str) -> list[Step]:
    return [
        *(
            Step("POST", f"{MAPS}{DRY}{level}", body, media)
            for media, body in (
                (JSON, TWICE),
                (YAML, LINES),
                (YAML, "metadata: {name: q, bad: 1, bad: 2}"),
                (YAML, "metadata: {name: q}\n---\nmetadata: {name: r}"),
                (YAML, "metadata: {name: q}\n1: 2\ntrue: x\n"),
                (YAML, 'metadata: {name: q}\ndata: {1: "2", true: "x", 1.5: "y", 1: "3"}\n'),
                (YAML, 'metadata: {name: q}\ndata: {a: !!binary aGk=, b: &x "y", c: *x}\n'),
                (YAML, "metadata: {name: q}\ndata: {a: 2020-01-01, b: yes}\n"),
                (YAML, "metadata: {name: q, generation: 1e3}\ndata: {a: 12:30, b: 0o17x, c: 1_}\n"),
                (YAML, "metadata: {name: q, generation: 0x1F}\nimmutable: n\n"),
                (YAML, "metadata: {name: q, generation: 1.5}\n"),
                (YAML, "\tmetadata: {name: q}\n"),
                (YAML, '{"metadata":{"name":"q"},"z":1,"a":2}'),
                (JSON, '{"metadata":{"name":"q"},"z":1,"a":2}'),
                (JSON, '{"metadata":{"name":"q","labels":{"a":"\\ud800"}}}'),
                (YAML, ""),
                (YAML, "x"),
            )
        ),
        Step("POST", f"{SETS.path}{DRY}{level}", NESTED),
        Step("POST", f"{SETS.path}{DRY}{level}", '{"Metadata":{"Name":"q"},"spec":{"Replicas":3}}'),
    ]


def changes(level: str) -> list[Step]:
    item = f"{MAPS}/m{DRY}{level}"
    manager = "&fieldManager=x"
    return [
        Step("POST", MAPS, {"metadata": {"name": "m"}}),
        Step("POST", SETS.path, SETS.named()),
        Step("PUT", item, '{"metadata":{"name":"m"},"data":{"a":"b","a":"c"},"foo":1}'),
        Step("PATCH", item, '{"data":{"a":"b","a":"c"},"foo":1,"foo":2}', MERGE),
        Step("PATCH", item, '{"data":{"a":"b","a":"c"},"foo":1}', STRATEGIC),
        Step(
            "PATCH",
            item,
            '[{"op":"add","path":"/foo","value":1},{"op":"add","op":"add","path":"/metadata/bar",'
            '"value":{"a":1,"a":2}}]',
            JSON_PATCH,
        ),
        Step("PATCH", item, APPLIED + "data:\n  a: b\n  a: c\nfoo: 1\n", APPLY),
        Step("PATCH", item + manager, APPLIED + "data:\n  a: b\n  a: c\nfoo: 1\n", APPLY),
        Step(
            "PATCH",
            item + manager,
            APPLIED + "metadata: {name: m}\ndata:\n  a: b\n  a: c\n",
            APPLY,
        ),
        *(
            Step(
                "PATCH",
                f"{SETS.item}{DRY}{level}",
                '{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i","imag":"x"}]}}}'
                ',"z":1,"y":2}',
                media,
            )
            for media in (STRATEGIC, MERGE)
        ),
        Step("PATCH", f"{SETS.item}{DRY}{level}", '{"spec":{"Replicas":3}}', MERGE),
    ]


CASES = [
    *(Case(f"bodies{level}", bodies(level), managed=False) for level in LEVELS),
    *(Case(f"changes{level}", changes(level), managed=False) for level in LEVELS),
]
