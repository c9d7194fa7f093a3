import importlib.machinery
import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from winkube.rules.load import DATA, load_rules

ROOT = Path(__file__).parents[3]
SCANS = sorted((ROOT / "tests" / "data" / "rule-sources").glob("*.json"))
KNOWN = {rule.id for rule in load_rules()}


def read_coverage(name: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = yaml.safe_load((DATA / "coverage" / f"{name}.yaml").read_text())
    return entries


def test_every_document_has_a_coverage_table() -> None:
    assert {path.stem for path in SCANS} == {path.stem for path in (DATA / "coverage").iterdir()}
    assert sum(len(read_coverage(path.stem)) for path in SCANS) > 300


@pytest.mark.parametrize("scan", SCANS, ids=lambda path: path.stem)
def test_an_entry_names_rules_that_exist_or_a_reason(scan: Path) -> None:
    entries = read_coverage(scan.stem)
    for entry in entries:
        assert set(entry) in ({"line", "says", "rules"}, {"line", "says", "none"}), entry
        assert entry["says"]
        assert entry.get("none") or entry["rules"]
        assert set(entry.get("rules", ())) <= KNOWN, entry
    lines = [entry["line"] for entry in entries]
    assert lines == sorted(set(lines))


@pytest.mark.parametrize("scan", SCANS, ids=lambda path: path.stem)
def test_no_paragraph_with_a_word_of_a_limit_lacks_an_entry(scan: Path) -> None:
    lines = [entry["line"] for entry in read_coverage(scan.stem)]
    missing = [
        hit
        for hit in json.loads(scan.read_text())["hits"]
        if not any(hit["from"] <= line <= hit["to"] for line in lines)
    ]
    assert missing == []


def test_every_source_line_of_a_rule_is_in_the_coverage_of_its_document() -> None:
    covered = {
        (scan.stem[:3], entry["line"]) for scan in SCANS for entry in read_coverage(scan.stem)
    }
    lost = [
        (rule.id, source)
        for rule in load_rules()
        for source in rule.source
        if source.startswith("seed:")
        and (source.split(":")[1][:3], int(source.split(":")[2])) not in covered
    ]
    assert lost == []


@pytest.mark.skipif("WINKUBE_RULE_SOURCES" not in os.environ, reason="needs the documents")
def test_the_scan_is_of_the_documents_we_have() -> None:
    tool = ROOT / "tools" / "scan-rule-sources"
    loader = importlib.machinery.SourceFileLoader("scan_rule_sources", str(tool))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    folder = Path(os.environ["WINKUBE_RULE_SOURCES"])
    for scan in SCANS:
        text = (folder / f"{scan.stem}.txt").read_text(encoding="utf-8")
        assert module.scan(text) == json.loads(scan.read_text())
