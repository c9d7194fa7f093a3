"""One line per record, facts at its end."""

import logging

from winkube.base.log import FactFormatter


def test_facts_follow_the_message() -> None:
    record = logging.makeLogRecord(
        {"name": "x", "levelname": "INFO", "msg": "pod bound", "pod": "a/b"}
    )
    assert FactFormatter().format(record).endswith("I x: pod bound pod='a/b'")


def test_a_traceback_stays_below_the_facts() -> None:
    record = logging.makeLogRecord(
        {"name": "x", "levelname": "INFO", "msg": "m", "exc_text": "trace"}
    )
    record.pod = "p"
    assert FactFormatter().format(record).endswith("m pod='p'\ntrace")
