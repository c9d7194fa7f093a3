import pytest

from winkube.api.image_name import tag_of


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("a", "latest"),
        ("a:1", "1"),
        ("r.example:5000/a/b", "latest"),
        ("r.example:5000/a/b:v1.2_x", "v1.2_x"),
        ("a@sha256:" + "0" * 64, ""),
        ("a:1@sha256:" + "0" * 64, "1"),
        ("Upper", ""),
        ("a b", ""),
        ("0" * 64, ""),
        ("", ""),
    ],
)
def test_a_tag_is_latest_unless_something_else_is_said(image: str, tag: str) -> None:
    assert tag_of(image) == tag
