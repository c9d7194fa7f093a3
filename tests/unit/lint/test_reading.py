import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winkube.lint.reading import Document, Problem, parse_file, parse_text

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"


def read(data: str | bytes) -> tuple[list[str], list[Problem]]:
    """The names of the objects, and the problems."""
    encoded = data.encode() if isinstance(data, str) else data
    parts = list(parse_file("f.yaml", encoded))
    documents = [part for part in parts if isinstance(part, Document)]
    names = [value["metadata"]["name"] for each in documents for _, value in each.objects()]
    return names, [part for part in parts if isinstance(part, Problem)]


def aliases(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, levels)
    ]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("broken", "line", "said"),
    [
        ("a: b: c\n", 1, "mapping values"),
        ("a:\n\tb: c\n", 2, "a tab"),
        ("a: &a [*a]\n", 1, "contains itself"),
        (aliases(9), 7, "aliases grow"),
        ("[" * 100_000 + "\n", 1, "nested deeper"),
        ("- " * 50_000 + "\n", 1, "nested deeper"),
        ("a: \x01\n", 1, "control characters"),
        ("x: {{ .Values.x }}\n  {{- end }}\n", 1, "template"),
        ("? [a]\n: b\n", 1, "key"),
        (f"a: {'9' * 5000}\n", 1, "cannot be read"),
        ('{"a": 1,}}\n', 1, "not YAML"),
    ],
)
def test_a_broken_document_is_named_and_the_rest_is_read(broken: str, line: int, said: str) -> None:
    names, problems = read(f"{POD}---\n{broken}---\n{POD}")
    assert names == ["a", "a"]
    (problem,) = problems
    assert said in problem.message
    assert 4 + line <= problem.line <= 5 + line
    assert str(problem).startswith("f.yaml:")


def test_a_byte_that_is_no_utf8_spoils_its_document_only() -> None:
    names, (problem,) = read(b"# gr\xfcn\n" + POD.encode() + b"---\n" + POD.encode())
    assert names == ["a"]
    assert (problem.line, problem.column) == (1, 5)


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16"])
def test_marked_encodings_are_read(coding: str) -> None:
    assert read(POD.encode(coding)) == (["a"], [])


def test_binary_files_are_told_apart() -> None:
    assert read(b"\x7fELF\0")[1][0].message == "a binary file, not a manifest"


def test_lists_are_opened_and_typed_lists_say_what_their_items_are() -> None:
    text = (
        '{"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "b"}}]}'
        "\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, "
        "metadata: {name: c}}\n"
    )
    assert read(text) == (["b", "c"], [])


@pytest.mark.parametrize("text", ["", "# only words\n", "---\n---\n", "%YAML 1.1\n---\n", "...\n"])
def test_nothing_is_no_problem(text: str) -> None:
    assert read(text) == ([], [])


def test_what_is_no_object_is_passed_over() -> None:
    assert read("hello\n---\n- 1\n---\nkind: [a]\n---\nkind: Pod\n") == ([], [])


def test_dates_stay_text() -> None:
    (document,) = parse_file("f", b"a: 2020-01-01\nb: !Ref c\n")
    assert isinstance(document, Document)
    assert document.value == {"a": "2020-01-01", "b": "c"}


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=200)
    | st.text(alphabet="ab:-{}[]&*!|>'\"#%\n\t ,?.", max_size=80).map(str.encode)
)
def test_no_input_ends_the_program(data: bytes) -> None:
    for part in parse_file("f", data):
        if isinstance(part, Document):
            list(part.objects())
            part.positions.locate(("a", 0))


@pytest.mark.parametrize(
    ("text", "key", "line", "column"),
    [
        ("kind: Pod\nspec:\n  a: 1\n  b: 2\n  a: 3\n", "a", 5, 3),
        ("kind: Pod\nkind: Service\n", "kind", 2, 1),
        ('{"kind": "Pod",\n "spec": {"a": 1, "a": 2}}', "a", 2, 19),
        ("x: y\n---\nkind: &k Pod\nother: *k\nkind: Service\n", "kind", 5, 1),
    ],
)
def test_a_key_that_is_there_twice_is_told_and_the_last_one_counts(
    text: str, key: str, line: int, column: int
) -> None:
    parts = list(parse_text("f", text))
    (problem,) = [part for part in parts if isinstance(part, Problem)]
    assert f"{key!r} is there twice" in problem.message
    assert (problem.line, problem.column) == (line, column)
    assert len([part for part in parts if isinstance(part, Document)]) == 1 + text.count("---")


def test_merged_keys_and_their_like_are_not_there_twice() -> None:
    text = "a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  x: 3\n1: a\n'1': b\n"
    assert not [part for part in parse_text("f", text) if isinstance(part, Problem)]
