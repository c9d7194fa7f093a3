from pathlib import Path

from winkube.hns.store import DocumentStore


def reopened(folder: Path) -> DocumentStore:
    store = DocumentStore(folder)
    store.open()
    return store


def test_documents_come_back(tmp_path: Path) -> None:
    store = reopened(tmp_path)
    store.put("Network", "A", {"ID": "A", "n": 1})
    store.put("Network", "A", {"ID": "A", "n": 2})
    store.put("Endpoint", "B", {"ID": "B"})
    store.delete("Endpoint", "B")
    store.close()
    again = reopened(tmp_path)
    assert list(again.load("Network")) == [{"ID": "A", "n": 2}]
    assert list(again.load("Endpoint")) == []
    again.close()


def test_a_torn_last_line_costs_only_itself(tmp_path: Path) -> None:
    store = reopened(tmp_path)
    store.put("Network", "A", {"ID": "A"})
    store.close()
    with (tmp_path / "journal").open("ab") as file:
        file.write(b'["Network","B",{"ID"')
    again = reopened(tmp_path)
    assert [row["ID"] for row in again.load("Network")] == ["A"]
    again.close()


def test_the_journal_does_not_grow_for_ever(tmp_path: Path) -> None:
    store = reopened(tmp_path)
    for number in range(3000):
        store.put("Network", "A", {"ID": "A", "n": number})
    store.close()
    assert len((tmp_path / "journal").read_bytes().splitlines()) < 1100
    again = reopened(tmp_path)
    assert next(iter(again.load("Network")))["n"] == 2999
    again.close()
