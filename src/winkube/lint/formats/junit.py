"""JUnit XML: every finding is a failed case; a file without findings passes."""

import re
from typing import Final
from xml.etree import ElementTree

from winkube.lint.report import Report
from winkube.rules.model import Severity

_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_junit(report: Report) -> str:
    worst = [found for found in report.findings if found.severity is not Severity.INFO]
    suite = ElementTree.Element(
        "testsuite",
        name="winkube lint",
        tests=str(max(len(worst) + len(report.problems), 1)),
        failures=str(len(worst)),
        errors=str(len(report.problems)),
    )
    for found in worst:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=_clean(found.source),
            name=_clean(_title(found.rule.id, found.place)),
        )
        failure = ElementTree.SubElement(
            case, "failure", type=found.severity.value, message=_clean(found.message)
        )
        text = found.rule.english
        failure.text = _clean(
            f"{found.place}\n{found.ref}, {found.path}\n{text.message}\n{text.remedy}"
        )
    for problem in report.problems:
        case = ElementTree.SubElement(
            suite, "testcase", classname=_clean(problem.source), name="readable"
        )
        ElementTree.SubElement(case, "error", message=_clean(str(problem)))
    if not worst and not report.problems:
        ElementTree.SubElement(suite, "testcase", classname="winkube", name="no findings")
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def _title(rule_id: str, place: str) -> str:
    return f"{rule_id} {place}"


def _clean(text: str) -> str:
    return _NOT_XML.sub("?", text)
