from pathlib import Path

from winkube.runtime.state import Container, ContainerState, Records


def make(name: str) -> Container:
    return Container(
        id=name,
        sandbox_id="s",
        config_data="",
        image_id="i",
        image_ref="r",
        personality="ltsc2019",
        user="ContainerUser",
        command="a.exe",
        created_at=1,
        state=ContainerState.RUNNING,
    )


def test_records_are_found_again_by_the_next_process(tmp_path: Path) -> None:
    Records(tmp_path, Container).save(make("abc123"))
    records = Records(tmp_path, Container)
    records.load()
    found = records.find("abc123")
    assert found is not None
    assert found.state is ContainerState.RUNNING


def test_a_record_that_was_never_written_whole_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "state.json").write_text('{"id": "x"')
    records = Records(tmp_path, Container)
    records.load()
    assert list(records) == []


def test_an_id_may_be_shortened_while_it_is_unambiguous(tmp_path: Path) -> None:
    records = Records(tmp_path, Container)
    for name in ("abc1", "abd2"):
        records.save(make(name))
    assert records.find("abc") is not None
    assert records.find("ab") is None
    assert records.find("") is None
