import inspect
import os
import sys
import threading
from pathlib import Path

import pytest

from winkube.lint.formats.text import to_lines
from winkube.lint.reading import Problem
from winkube.lint.run import LintConfig, lint
from winkube.lint.sources import Charts, Source, read_sources
from winkube.rules.target import parse_targets


def names(*arguments: str | Path) -> list[str]:
    return [
        each.name for each in read_sources([str(a) for a in arguments]) if isinstance(each, Source)
    ]


def problems(*arguments: str | Path) -> list[str]:
    found = read_sources([str(argument) for argument in arguments])
    return [each.message for each in found if isinstance(each, Problem)]


def test_a_folder_is_read_in_order_without_hidden_and_foreign_files(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yml", "c.json", ".d.yaml", "e.txt"):
        (tmp_path / name).write_text("a: b")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "f.yaml").write_text("a: b")
    (tmp_path / "sub" / "loop").symlink_to(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "g.yaml").write_text("a: b")
    assert [Path(name).name for name in names(tmp_path)] == ["a.yml", "b.yaml", "c.json", "f.yaml"]


def test_folders_may_nest_deeper_than_calls(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 300)
    deep.mkdir(parents=True)
    (deep / "deep.yaml").write_text("a: b")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 250)
    try:
        assert [Path(name).name for name in names(tmp_path)] == ["deep.yaml"]
    finally:
        sys.setrecursionlimit(limit)


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    assert problems(tmp_path / "absent", "/dev/null") == [
        "no such file or folder",
        "not a regular file",
    ]


def test_a_link_in_a_circle_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").symlink_to(tmp_path / "b.yaml")
    (tmp_path / "b.yaml").symlink_to(tmp_path / "a.yaml")
    assert problems(tmp_path) == ["a link that leads nowhere"] * 2


def test_a_large_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "big.yaml"
    with path.open("wb") as file:
        file.truncate(100 << 20)
    assert "100 MiB is too large" in problems(path)[0]


def test_a_chart_or_kustomization_needs_its_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    for folder, name in (("chart", "Chart.yaml"), ("kust", "kustomization.yaml")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text("a: b")
        (tmp_path / folder / "other.yaml").write_text("a: b")
    said = problems(tmp_path)
    assert ["helm template" in said[0], "kubectl kustomize" in said[1]] == [True, True]
    assert names(tmp_path) == []


def test_a_program_renders_a_folder_or_says_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "helm").write_text("#!/bin/sh\necho 'kind: Pod'\n")
    (programs / "kubectl").write_text("#!/bin/sh\necho 'cycle detected' >&2\nexit 1\n")
    for program in programs.iterdir():
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    for folder, name in (("chart", "Chart.yaml"), ("kust", "kustomization.yaml")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text("a: b")
    (source,) = read_sources([str(tmp_path / "chart")])
    assert isinstance(source, Source)
    assert (source.data, source.path) == (b"kind: Pod\n", None)
    assert problems(tmp_path / "kust") == ["cannot be rendered: cycle detected"]


def test_a_chart_is_rendered_for_the_target_with_the_values_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "helm").write_text('#!/bin/sh\necho "$@"\n')
    (programs / "helm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    chart = tmp_path / "chart"
    chart.mkdir()
    (chart / "Chart.yaml").write_text("a: b")
    asked = Charts("1.34", ("mine.yaml",), ("windows.enabled=true",))
    (source,) = read_sources([str(chart)], asked)
    assert isinstance(source, Source)
    assert source.data.decode().split() == [
        "template", "winkube-lint", str(chart),
        "--kube-version=1.34", "--values=mine.yaml", "--set=windows.enabled=true",
    ]  # fmt: skip


def test_the_pipe_of_a_shell_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("a: b",))
    writer.start()
    assert names(pipe) == [str(pipe)]
    writer.join()


def test_text_of_a_manifest_does_not_reach_the_terminal_as_commands(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff\x1b[31m.yaml")
    path.write_text(
        'apiVersion: v1\nkind: Pod\nmetadata: {name: "a\\e[31m\\nb"}\nspec:\n'
        "  hostPID: true\n  os: {name: windows}\n  containers: [{name: a, image: b}]\n"
    )
    report = lint(LintConfig(parse_targets()), read_sources([str(path)]))
    lines = list(to_lines(report))
    assert len(lines) > 5
    assert all(line.isprintable() for line in lines)
