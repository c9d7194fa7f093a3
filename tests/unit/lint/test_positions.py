import pytest

from winkube.lint.positions import Positions

TEXT = """\
# words
spec:
  containers:
    - name: a  # first
      image: "ü😀x"
    - {name: b, image: c}
"""


@pytest.mark.parametrize(
    ("path", "place", "meant"),
    [
        (("spec",), (2, 1), "spec:"),
        (("spec", "containers", 0, "name"), (4, 7), "name: a"),
        (("spec", "containers", 0, "image"), (5, 7), 'image: "ü😀x"'),
        (("spec", "containers", 1, "image"), (6, 17), "image: c"),
        (("spec", "containers", 1), (6, 7), "{name: b, image: c}"),
        (("spec", "absent", "below"), (2, 1), "spec:"),
        ((), (2, 1), "spec:"),
    ],
)
def test_a_path_leads_to_its_place(
    path: tuple[str | int, ...], place: tuple[int, int], meant: str
) -> None:
    position = Positions(TEXT, 0).locate(path)
    assert (position.line, position.column) == place
    start = position.column - 1
    assert position.text[start : start + position.width] == meant


def test_lines_count_from_the_start_of_the_file() -> None:
    assert Positions(TEXT, 10).locate(("spec",)).line == 12


def test_a_document_that_yaml_cannot_compose_has_a_place_all_the_same() -> None:
    assert Positions('{"a":\t[\t1,\n\t2]}', 3).locate(("a",)).line in (4, 5)
